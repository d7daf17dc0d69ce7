# SPDX-License-Identifier: Apache-2.0
"""The recorded stream is, event for event, what a tool in pure Python sees in a process of its own."""
import marshal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import environment
from streams import first_difference, lost, shape, threads_of, without_offsets

PROGRAMS = Path(__file__).parent / "programs"
OBSERVER = PROGRAMS / "observe.py"
ORACLE = sorted(path.stem for path in (PROGRAMS / "oracle").glob("*.py"))

# All that this CPython has.  3.14 keeps BRANCH as an old name for both of its halves.
EVENTS = [name for name in vars(sys.monitoring.events) if name.isupper() and name != "NO_EVENTS"]
if "BRANCH_LEFT" in EVENTS:
    EVENTS.remove("BRANCH")
CALLS = ["PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND", "RAISE", "RERAISE"]
BRANCHES = [name for name in EVENTS if name.startswith("BRANCH")]
SETS = {
    "calls": CALLS,
    "calls,LINE": [*CALLS, "LINE"],
    "calls,CALL,C_RETURN,C_RAISE": [*CALLS, "CALL", "C_RETURN", "C_RAISE"],
    ",".join(["calls", "JUMP", *BRANCHES]): [*CALLS, "JUMP", *BRANCHES],
    "full": EVENTS,
    "flow": [*CALLS, "LINE", "JUMP"],
}
# C_RETURN and C_RAISE exist only together with CALL.
ALONE = [name for name in EVENTS if name not in ("C_RETURN", "C_RAISE")]
# Programs, and the modules that are held against the oracle with them.
LIBRARY = {
    "tasks": "asyncio/*",
    "texts": "argparse.py,configparser.py,contextlib.py,copy.py,difflib.py,fractions.py,inspect.py,json/*,pprint.py,"
             "shlex.py,statistics.py,textwrap.py,traceback.py",
}


@pytest.fixture
def observe(python, tmp_path):
    """observe(program, events, files): the threads' events as the oracle has them."""
    def run(program, events, files):
        output = tmp_path / "observed"
        words = [python, OBSERVER, output, ",".join(events), files, program]
        subprocess.run(words, env=environment(), stdout=subprocess.DEVNULL, timeout=300, check=True)
        return list(marshal.loads(output.read_bytes()).values())
    return run


@pytest.fixture
def compare(observe, record, events):
    """Hold a recording of @program with --events=@option against what the oracle sees."""
    def run(program, option, wanted, files="programs/oracle/*"):
        program = PROGRAMS / program
        seen = observe(program, [*wanted, "TRACEBACKS"] if option == "flow" else wanted, files)
        trace = record([program], f"--events={option}", *(f"--include={each}" for each in files.split(",")))
        threads = threads_of(events(trace)).values()
        assert not any(map(lost, threads))
        assert not any(event["event"] == "UNKNOWN" for thread in threads for event in thread)
        recorded = [[shape(event) for event in thread if option != "flow" or event["event"] in wanted]
                    for thread in threads]
        assert seen and len(recorded) == len(seen)
        # Threads have no names that both sides know.
        for ours, theirs in zip(sorted(recorded, key=repr), sorted(seen, key=repr)):
            assert not (difference := first_difference(ours, theirs)), f"recorded {difference}"
        return recorded
    return run


@pytest.mark.parametrize("option", SETS)
@pytest.mark.parametrize("program", ORACLE)
def test_programs(program, option, compare):
    if (program, option) == ("traced", "flow"):
        pytest.skip("it moves frames: see test_flow_stacks.py")
    compare(f"oracle/{program}.py", option, SETS[option])


@pytest.mark.parametrize("option", SETS)
@pytest.mark.parametrize("program", LIBRARY)
def test_the_standard_library(program, option, compare):
    compare(f"library/{program}.py", option, SETS[option], f"programs/library/*,{LIBRARY[program]}")


@pytest.mark.parametrize("option", sorted(SETS.keys() - {"flow"}))  # see test_flow.py
def test_greenlets(option, compare):
    pytest.importorskip("greenlet")
    compare("greenlets.py", option, SETS[option], "programs/greenlets.py")


@pytest.mark.parametrize("event", ALONE)
def test_single_events(event, compare):
    compare("everything.py", event, [event])


ONE_LINERS = """
def f(): return 1
g = lambda: 2
def squares(n): return [x * x for x in range(n)]
def counts(): yield f()
async def waits(): return g()
def loop():
    return f()
f(); g(); squares(3); list(counts()); loop(); loop()
try: waits().send(None)
except StopIteration: pass
"""


@pytest.mark.parametrize("options", [["--events=LINE"], ["--events=LINE,RAISE"]], ids=" ".join)
def test_lines_of_code_of_a_single_line(options, record, events):
    """Each entry has its LINE, and no event is shown that was not asked for; code that is left out has none."""
    wanted = set(options[0].partition("=")[2].split(","))
    read = [event for event in events(record(ONE_LINERS, *options, "--no-stdlib")) if event["event"] != "GAP"]
    assert {event["event"] for event in read if event.get("function")} == wanted
    lines = Counter((event["function"], event["line"]) for event in read if event["event"] == "LINE")
    entered = {"f": (2, 4), "<lambda>": (3, 2), "squares": (4, 1), "counts": (5, 1), "waits": (6, 1), "loop": (8, 2)}
    assert {name: (line, lines[name, line]) for name, (line, _) in entered.items()} == entered
    assert not events(record(ONE_LINERS, *options, "--include=nothing.py"), "--kind=LINE,PY_START")


EXCEPTIONS = """
import contextlib
def fails():
    raise KeyError
def passes_on():
    try:
        fails()
    finally:
        pass
def thrown_into():
    with contextlib.suppress(ValueError):
        yield
for _ in range(50):
    try:
        passes_on()
    except KeyError:
        pass
    generator = thrown_into()
    next(generator)
    with contextlib.suppress(StopIteration):
        generator.throw(ValueError)
"""


@pytest.mark.parametrize("profile", ["full", "calls", "flow", "PY_UNWIND,PY_THROW,RAISE,RERAISE,EXCEPTION_HANDLED"])
def test_events_of_exceptions_are_switched_off_nowhere(profile, record, events):
    """From CPython 3.15 on a callback that returned DISABLE for one of them would switch it off for all of its code object."""
    told = [(event["event"], event["function"]) for event in events(record(EXCEPTIONS, f"--events={profile}"), "--file=program-1.py")]
    counts = Counter(told)
    pairs = [("RAISE", "fails"), ("PY_UNWIND", "fails"), ("RERAISE", "passes_on"), ("PY_UNWIND", "passes_on"),
             ("PY_THROW", "thrown_into"), ("RAISE", "thrown_into")]
    if profile not in ("calls", "flow"):
        pairs += [("EXCEPTION_HANDLED", "passes_on"), ("EXCEPTION_HANDLED", "thrown_into")]
    assert all(counts[pair] and counts[pair] % 50 == 0 for pair in pairs), counts


THROUGH_OTHERS = """
import asyncio, contextlib, functools, heapq, json, queue, re, threading, types
class Odd(Exception):
    pass
def raises(*anything):
    raise Odd
def cleans_up(*anything):
    try:
        raises()
    finally:
        len("x")
def handles(call, *arguments):
    try:
        call(*arguments)
    except (Odd, ValueError, KeyError, queue.Empty):
        return True
@contextlib.contextmanager
def around(swallows):
    try:
        yield
    except Odd:
        if not swallows:
            raise
def within(swallows):
    with around(swallows), contextlib.ExitStack() as stack:
        stack.callback(len, "x")
        raises()
class Compared:
    def __lt__(self, other):
        return handles(cleans_up) and raises()
def goes_on():
    while True:
        try:
            yield
        except Odd:
            pass
async def waits():
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.001)
    except TimeoutError:
        await asyncio.gather(fails(), fails(), return_exceptions=True)
    task = asyncio.create_task(asyncio.sleep(10))
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
async def fails():
    raises()
def everything():
    handles(functools.reduce, raises, [1, 2])
    handles(functools.partial(functools.cmp_to_key(cleans_up), 1))
    handles(json.loads, "{")
    handles(functools.partial(json.dumps, object, default=cleans_up))
    handles(re.sub, "x", cleans_up, "axb")
    handles(queue.Queue().get_nowait)
    handles(heapq.merge, [Compared()], [Compared()])
    handles(lambda: list(heapq.merge([Compared()], [Compared()])))
    handles(functools.singledispatch(cleans_up), 1)
    handles(within, True), handles(within, False)
    generator = goes_on()
    next(generator)
    for _ in range(3):
        generator.throw(Odd)
    generator.close()
    handles(types.coroutine(goes_on)().throw, Odd)
    handles(exec, compile("def inner():\\n    cleans_up()\\ninner()", "<made>", "exec"), {"cleans_up": cleans_up})
    asyncio.run(waits())
for _ in range(3):
    everything()
thread = threading.Thread(target=everything)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("profile", ["flow", "full"])
@pytest.mark.parametrize("filters", [("--no-stdlib",), ("--include=*/through.py", "--include=<made>")])
def test_what_is_left_out_does_not_change_what_is_recorded(filters, profile, record, events, tmp_path):
    """Exceptions pass through code that is left out, which from CPython 3.15 on is not asked for them."""
    program = tmp_path / "through.py"
    program.write_text(THROUGH_OTHERS)

    def own(*options):
        told = events(record([program], f"--events={profile}", *options))
        threads = threads_of(event for event in told if event.get("file") in (str(program), "<made>"))
        return [without_offsets(map(shape, thread)) for thread in threads.values()]

    for recorded, wanted in zip(own(*filters), own(), strict=True):
        assert not first_difference(recorded, wanted)
        assert {"RAISE", "RERAISE", "PY_UNWIND", "PY_THROW"} <= {event[0] for event in recorded}


ASKED_FOR = """
import json, sys
tools, events = sys.monitoring, sys.monitoring.events
def own():
    pass
own()
asked = [bool(mask & events.RAISE) for mask in (tools.get_events(5), tools.get_local_events(5, own.__code__),
                                                tools.get_local_events(5, json.loads.__code__))]
print(asked)
"""


@pytest.mark.parametrize("profile", ["calls", "flow"])
@pytest.mark.parametrize("options, asked", [((), "[True, False, False]"), (("--no-stdlib",), "[False, True, False]")])
@pytest.mark.skipif(sys.version_info < (3, 15), reason="exceptions cannot be asked for code by code")
def test_exceptions_are_asked_for_of_recorded_code_alone(options, asked, profile, kymo, tmp_path):
    (tmp_path / "program.py").write_text(ASKED_FOR)
    done = kymo("record", "-q", f"--events={profile}", *options, "program.py", cwd=tmp_path)
    assert done.stdout == asked + "\n"
