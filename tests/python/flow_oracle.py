# SPDX-License-Identifier: Apache-2.0
"""Lines rebuilt from a `flow` recording are, one for one, what another tool saw in the same run.

    flow_oracle.py [--keep FOLDER] [module | program.py [arguments]]…     or: ./dev flow-oracle [--python 3.14] …

runs each unittest module, or each program, under a tool in pure Python that notes LINE, JUMP, calls and exceptions, and
records the same process with --events=flow.  In every thread, both must have the same events in the same order from where
the tool was switched on to where it was switched off.
"""
import argparse
import itertools
import json
import marshal
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from streams import shape

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("KYMO_BUILD_DIR", "build/dev")
KYMO = BUILD / "bin" / "kymo"
PROGRAMS = Path(__file__).parent / "programs"
OBSERVER = str(PROGRAMS / "observe.py")
TIMEOUT = 1200

# RESUME, maybe COPY_FREE_VARS before it, LOAD_FAST, GET_ITER and its cache
GENEXPR_PROLOGUE = 12
EVENTS = ("PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND", "RAISE", "RERAISE", "LINE", "JUMP")

MODULES = """
    test_generators test_coroutines test_asyncgen test_exceptions test_exception_group test_except_star test_raise
    test_gc test_weakref test_code test_compile test_grammar test_call test_patma test_with test_yield_from
    test_generator_stop test_genexps test_listcomps test_setcomps test_dictcomps test_scope test_named_expressions
    test_unpack_ex test_dict test_set test_descr test_class test_super test_property test_iter test_itertools
    test_functools test_contextlib test_contextlib_async test_types test_typing test_enum test_dataclasses test_type_params
    test_threading_local test_queue test_sched test_json test_re test_copy test_textwrap test_heapq test_fractions
    test_asyncio.test_tasks test_asyncio.test_taskgroups test_asyncio.test_locks test_asyncio.test_queues
""".split()


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KYMO", "PYTHON"))}
    return kept | {"KYMO_PYTHON": sys.executable, "PYTHONHASHSEED": "0"}


def record(words, folder):
    """Run @words; return the trace and what the tool saw by thread."""
    seen, trace = folder / "seen", folder / "trace.kymo"
    command = [KYMO, "record", "-q", "-f", "-o", trace, "--events=flow", "--no-subprocesses", "--max-size=4G",
               OBSERVER, seen, ",".join(EVENTS), "*", *words]
    done = subprocess.run(list(map(str, command)), env=environment(), cwd=folder, timeout=TIMEOUT,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if not seen.exists():
        raise RuntimeError(f"the program did not end: status {done.returncode}\n{done.stderr[-2000:]}")
    return trace, marshal.loads(seen.read_bytes())


def events_of(trace, tid):
    command = [KYMO, "events", "--jsonl", "--thread", str(tid), "--kind", ",".join((*EVENTS, "GAP", "UNKNOWN")), trace]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        yield from map(json.loads, process.stdout)


def is_ours(event):
    """True of the tool itself."""
    return event[1] == OBSERVER


def is_being_made(event):
    """True of a generator expression of 3.15 that fails before it is one: its frame has no PY_START."""
    return (sys.version_info >= (3, 15) and event[0] in ("RAISE", "PY_UNWIND") and event[2].endswith("<genexpr>")
            and event[4] < GENEXPR_PROLOGUE)


def compare(seen, recorded, result):
    """Account of the first difference, or None.  @recorded may begin earlier and end later."""
    recorded = iter(recorded)
    if is_ours(seen[0]):
        recorded = itertools.dropwhile(lambda event: event["event"] != "LINE" or shape(event) != tuple(seen[0]), recorded)
    before = []
    theirs = (event for event in map(tuple, seen) if not is_ours(event) and not is_being_made(event))
    ours = (event for event in recorded if event.get("file") != OBSERVER)
    for i, expected in enumerate(theirs):
        event = next(ours, None)
        while event and event["event"] in ("GAP", "UNKNOWN"):
            result[event["event"]] = result.get(event["event"], 0) + 1
            return f"at {i}: {event}; before it {before[-4:]}; expected {expected}"
        if not event or shape(event) != expected:
            return f"at {i}: rebuilt  {event and shape(event)}\n    expected {expected}\n    after    {before[-4:]}"
        result[expected[0]] = result.get(expected[0], 0) + 1
        before.append(expected[:1] + expected[2:5])
        del before[:-8]
    return None


def check(words, folder):
    started = time.monotonic()
    trace, seen = record(words, folder)
    result, differences = {}, []
    for tid, events in seen.items():
        if difference := compare(events, events_of(trace, tid), result):
            differences.append(difference)
    total = sum(result.values())
    print(f"{' '.join(map(str, words[-1:]))}: {len(seen)} threads, {total} events, {result.get('LINE', 0)} LINE; "
          f"{len(differences)} threads differ; {time.monotonic() - started:.0f} s", flush=True)
    for difference in differences[:3]:
        print(f"    {difference}", flush=True)
    return result.get("LINE", 0), len(differences)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", metavar="FOLDER", type=Path)
    parser.add_argument("targets", nargs="*", metavar="module|program.py")
    options = parser.parse_args()
    lines = failures = broken = 0
    for target in options.targets or MODULES:
        path = Path(target).resolve()
        words = [path] if target.endswith(".py") else [PROGRAMS / "run_tests.py", f"test.{target}"]
        with tempfile.TemporaryDirectory(prefix="kymo-flow-") as folder:
            folder = options.keep or Path(folder)
            try:
                some, differ = check(words, folder)
                lines += some
                failures += bool(differ)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                broken += 1
                print(f"{target}: not compared: {error}", flush=True)
    version = "{}.{}.{}".format(*sys.version_info)
    print(f"{version}: {len(options.targets or MODULES)} targets, {lines} lines, {failures} with differences, "
          f"{broken} not compared")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
