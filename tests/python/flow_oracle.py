# SPDX-License-Identifier: Apache-2.0
"""Lines rebuilt from a `flow` recording are, one for one, what another tool saw in the same run.

    flow_oracle.py [options] [module | program.py]…     or: ./dev flow-oracle [--python 3.14] …

runs each unittest module, or each program, under a tool in pure Python that notes LINE, JUMP, calls and exceptions, and
records the same process with --events=flow.  In every thread, both must have the same events in the same order from where
the tool was switched on to where it was switched off.  With --packages the programs are those of programs/packages, which
use packages of others; these are installed if they are missing.  With --random, programs are run twice: see
flow_oracle_apart.py.
"""
import argparse
import collections
import contextlib
import importlib.util
import itertools
import json
import marshal
import os
import re
import signal
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
# Code whose lines are recorded one by one is compared as well, but proves nothing.
FALLBACK_PERCENT = 1

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


PACKAGES = {"jinja2": "jinja2_templates.py", "pygments": "pygments_highlighting.py", "sympy": "sympy_mathematics.py",
            "attrs": "attrs_classes.py", "django": "django_templates.py"}


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KYMO", "PYTHON"))}
    return kept | {"KYMO_PYTHON": sys.executable, "PYTHONHASHSEED": "0"}


def record(words, folder, watched, timeout):
    """Run @words; return the trace and what the tool saw by thread."""
    seen, trace = folder / "seen", folder / "trace.kymo"
    command = [KYMO, "record", "-q", "-f", "-o", trace, "--events=flow", "--no-subprocesses", "--max-size=4G",
               OBSERVER, seen, ",".join(watched), "*", *words]
    with (folder / "output").open("w+", errors="replace") as output:
        process = subprocess.Popen(list(map(str, command)), env=environment(), cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=output, text=True, start_new_session=True)
        try:
            process.wait(timeout)
        finally:
            # The program would survive its recorder, and so may what it has started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        if not seen.exists():
            raise RuntimeError(f"the program did not end: status {process.returncode}\n{output.read()[-2000:]}")
    return trace, marshal.loads(seen.read_bytes())


def events_of(trace, tid, watched):
    """What the events of a thread, or of all, are shaped like; most come more than once, and are parsed but once."""
    thread = ["--thread", str(tid)] if tid else []
    command = [KYMO, "events", "--jsonl", *thread, "--kind", ",".join((*watched, "GAP", "UNKNOWN")), trace]
    known = {}
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            text = line[line.index('"event":'):]
            if text not in known:
                known[text] = shape(json.loads("{" + text))
            yield known[text]


def codes_of(trace):
    """How many code objects are in @trace, and how many of them were recorded line by line."""
    done = subprocess.run([KYMO, "stats", trace], capture_output=True, text=True, check=True)
    counts = dict(re.findall(r"^  (code objects|recorded line by line) +([0-9,]+)$", done.stdout, re.MULTILINE))
    return tuple(int(counts.get(name, "0").replace(",", "")) for name in ("code objects", "recorded line by line"))


def is_ours(event):
    """True of the tool itself."""
    return event[1] == OBSERVER


def is_being_made(event):
    """True of a generator expression of 3.15 that fails before it is one: its frame has no PY_START."""
    return (sys.version_info >= (3, 15) and event[0] in ("RAISE", "PY_UNWIND") and event[2].endswith("<genexpr>")
            and event[4] < GENEXPR_PROLOGUE)


def compare(seen, recorded, result):
    """Account of the first difference, or None.  @recorded may begin earlier and end later."""
    if is_ours(seen[0]) or seen[0][2] == "<module>":
        recorded = itertools.dropwhile(tuple(seen[0]).__ne__, recorded)
    before = collections.deque(maxlen=4)
    theirs = (event for event in map(tuple, seen) if not is_ours(event) and not is_being_made(event))
    ours = (event for event in recorded if not is_ours(event))
    for i, expected in enumerate(theirs):
        event = next(ours, None)
        if event != expected:
            return f"at {i}: rebuilt  {event}\n    expected {expected}\n    after    {[*before]}"
        result[event[0]] += 1
        before.append(event)
    return None


class Totals:
    lines = codes = fallbacks = compared = different = threads = broken = 0


def check(words, folder, options, totals):
    started = time.monotonic()
    trace, seen = record(words, folder, options.watch, options.timeout)
    result, differences = collections.Counter(), []
    for tid, events in seen.items():
        if difference := compare(events, events_of(trace, tid, options.watch), result):
            differences.append(difference)
    codes, fallbacks = codes_of(trace)
    totals.compared += 1
    totals.lines += result["LINE"]
    totals.codes += codes
    totals.fallbacks += fallbacks
    totals.threads += len(differences)
    totals.different += bool(differences)
    print(f"{Path(words[-1]).name}: {len(seen)} threads, {sum(result.values())} events, {result['LINE']} LINE; "
          f"{len(differences)} threads differ; {fallbacks} of {codes} codes line by line; "
          f"{time.monotonic() - started:.0f} s", flush=True)
    for difference in differences[:3]:
        print(f"    {difference}", flush=True)


def install_packages():
    """The programs of those that are there, or can be had for this interpreter."""
    if sys.prefix == sys.base_prefix:
        sys.exit("--packages: packages are installed only where this is a virtual environment")
    for package, program in PACKAGES.items():
        if not importlib.util.find_spec("attr" if package == "attrs" else package):
            words = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", package]
            if subprocess.run(words).returncode:
                print(f"{package}: left out, it cannot be installed here", flush=True)
                continue
        yield str(PROGRAMS / "packages" / program)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", action="store_true", help="programs that use packages of others, which are installed")
    parser.add_argument("--random", metavar="COUNT", type=int,
                        help="compare so many random programs, each run twice: under the tool, and recorded without it")
    parser.add_argument("--seed", type=int, default=1, help="of the random programs")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=1200, help="for one run of a target")
    parser.add_argument("--watch", metavar="EVENTS", type=lambda names: names.split(","), default=EVENTS,
                        help="what the tool asks for; the interpreter runs what is not asked for in other ways")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="leave the last trace there")
    parser.add_argument("targets", nargs="*", metavar="module|program.py")
    options = parser.parse_args()
    if options.random:
        import flow_oracle_apart  # which needs Hypothesis

        with tempfile.TemporaryDirectory(prefix="kymo-flow-") as folder:
            return 0 if flow_oracle_apart.check(options.random, options.seed, Path(folder), options.timeout) else 1
    totals = Totals()
    targets = [*options.targets, *(install_packages() if options.packages else ())] or MODULES
    for target in targets:
        path = Path(target).resolve()
        words = [path] if target.endswith(".py") else [PROGRAMS / "run_tests.py", f"test.{target}"]
        with tempfile.TemporaryDirectory(prefix="kymo-flow-") as folder:
            try:
                check(words, options.keep or Path(folder), options, totals)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                totals.broken += 1
                why = "it took too long" if isinstance(error, subprocess.TimeoutExpired) else error
                print(f"{target}: not compared: {why}", flush=True)
    share = 100 * totals.fallbacks / max(totals.codes, 1)
    print(f"{'{}.{}.{}'.format(*sys.version_info)}: {totals.compared} targets compared, {totals.lines} lines; "
          f"{totals.threads} threads differ, in {totals.different} targets; {totals.broken} targets not compared\n"
          f"recorded line by line: {totals.fallbacks} of {totals.codes} code objects, {share:.3f} %")
    return 1 if totals.different or not totals.compared or share >= FALLBACK_PERCENT else 0


if __name__ == "__main__":
    sys.exit(main())
