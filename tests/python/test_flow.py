# SPDX-License-Identifier: Apache-2.0
"""Lines rebuilt from `flow` recordings; test_oracle.py has them beside the other profiles, flow_oracle.py at length."""
import json
import marshal
import re
import signal
import subprocess
import sys
import textwrap

import pytest
from hypothesis import HealthCheck, given, settings

from conftest import ROOT, environment
from flow_observed import check_no_gaps, lines_of, observe, without_ends  # noqa: F401
from flow_oracle import EVENTS, OBSERVER
from generated_programs import programs
from streams import first_difference, shape, without_offsets

# A deterministic program that takes a while, and many ways.
BUSY = """
def odd(n):
    if n % 2:
        return True
    return False

def numbers(limit):
    for n in range(limit):
        try:
            if n % 7 == 0:
                raise ValueError(n)
            yield n
        except ValueError:
            continue

def work(rounds):
    total = 0
    for k in range(rounds):
        for n in numbers(20):
            if odd(n):
                total += n
            elif n % 3:
                total -= 1
        while total > 100:
            total //= 2
    return total
"""


@pytest.fixture
def compare(observe, record, events, tmp_path):
    def run(text):
        seen = without_offsets(map(tuple, observe(text)))
        recorded = events(record([tmp_path / "program.py"], "--events=flow", "--include=program.py"))
        check_no_gaps(recorded)
        rebuilt = without_offsets(shape(event) for event in recorded if event["event"] in EVENTS)
        assert not (difference := first_difference(rebuilt, seen)), f"rebuilt {difference}\n{text}"
        return recorded
    return run


def test_the_table_of_instructions_is_that_of_this_interpreter(python, tmp_path):
    subprocess.run([python, ROOT / "tools" / "opcodes.py", tmp_path], check=True)
    made, = tmp_path.iterdir()
    assert made.read_text() == (ROOT / "format" / "opcodes" / made.name).read_text()


def test_what_is_rebuilt_is_counted_apart(record, events, kymo):
    trace = record(BUSY + "work(3)", "--events=flow")
    read = events(trace)
    facts = json.loads(kymo("info", "--json", trace).stdout)
    assert facts["events"] == sum("k" not in event for event in read)
    assert facts["rebuilt"] == sum("k" in event for event in read) > 0
    # Rebuilt events are numbered before the recorded one that they come before.
    n, k = 1, 0
    for event in read:
        assert event["n"] == n and event.get("k", 0) in (0, k + 1), event
        n, k = (n, event["k"]) if "k" in event else (n + 1, 0)


@pytest.mark.parametrize("program", ["generators", "exceptions", "asynchronous", "comprehensions", "loops", "matching"])
def test_instructions_are_those_of_a_run_of_their_own(program, python, record, events, tmp_path):
    """Not under two tools at once: one's events of this kind silence another's."""
    if program in ("generators", "asynchronous", "comprehensions") and sys.version_info >= (3, 14):
        pytest.skip("whether close() runs a generator depends on the events that are asked for")
    program = ROOT / "tests" / "python" / "programs" / "oracle" / f"{program}.py"
    wanted = ["PY_START", "PY_RESUME", "PY_THROW", "INSTRUCTION"]
    subprocess.run([python, OBSERVER, tmp_path / "seen", ",".join(wanted), "oracle/*", program], env=environment(),
                   timeout=300, stdout=subprocess.DEVNULL, check=True)
    seen, = marshal.loads((tmp_path / "seen").read_bytes()).values()
    trace = record([program], "--events=flow", "--include=programs/oracle/*")
    rebuilt = list(map(shape, events(trace, "--kind", ",".join(wanted))))
    # What of a frame is left by an exception, only PY_UNWIND would say; names of types are not compared here.
    assert not (difference := first_difference(rebuilt, list(map(tuple, seen)))), f"rebuilt {difference}"


ASYNC_LOOPS = """
import asyncio
async def numbers(n):
    for k in range(n):
        yield k
async def loops(n):
    async for k in numbers(n):
        pass
    else:
        n += 1
    async for k in numbers(n): n += k
    kept = [k async for k in numbers(n) if k]
    async for k in numbers(
            n):
        if k:
            break
        n
    return [
        k
        async
        for k in
        numbers(n)]
asyncio.run(loops(2))
"""


@pytest.mark.parametrize("program", ["asynchronous", "loops", "matching", None])
def test_branches_are_those_of_a_run_with_lines(program, record, events, tmp_path):
    """The interpreter's sources of them depend on what else is asked for."""
    told = []
    path = ROOT / "tests" / "python" / "programs" / "oracle" / f"{program}.py"
    if not program:
        path = tmp_path / "loops.py"
        path.write_text(ASYNC_LOOPS)
    for profile in ("flow", "calls,LINE,BRANCH"):
        trace = record([path], f"--events={profile}", f"--include={path}")
        told.append([shape(event) for event in events(trace) if event["event"].startswith(("BRANCH", "LINE"))])
    assert not first_difference(*told)


@settings(max_examples=25, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs(has_destructors=True))
def test_generated_programs(compare, text):
    compare(text)


def test_a_chunk_can_be_rebuilt_without_those_before_it(observe, record, events, tmp_path):
    """Of overwritten rings the end is left: the lines are the last of those that ran."""
    text = BUSY + "work(3000)\n"
    reference = [(event[2], event[3]) for event in observe(text) if event[0] == "LINE"]
    read = events(record([tmp_path / "program.py"], "--events=flow", "--include=program.py", "--policy=overwrite",
                         "--ring-size=64K"))
    gaps = [i for i, event in enumerate(read) if event["event"] == "GAP"]
    assert gaps, "nothing was overwritten"
    rebuilt = lines_of(read[gaps[-1]:], "program.py")
    assert 1000 < len(rebuilt) < len(reference)
    assert rebuilt == reference[-len(rebuilt):]
    assert not any(event["event"] == "UNKNOWN" for event in read)


def test_a_killed_program_has_the_lines_up_to_what_was_recorded_last(observe, record, events, tmp_path):
    text = BUSY + "work(300)\nimport os, signal\n"
    reference = [(event[2], event[3]) for event in observe(text) if event[0] == "LINE"]
    program = tmp_path / "program.py"
    program.write_text(text + "work(7)\nos.kill(os.getpid(), signal.SIGKILL)\n")
    read = without_ends(events(record([program], "--events=flow", "--include=program.py", status=-signal.SIGKILL)))
    check_no_gaps(read)
    rebuilt = lines_of(read, "program.py")
    assert rebuilt[:len(reference)] == reference and len(rebuilt) > len(reference)


def test_a_recording_that_begins_and_ends_in_the_middle_of_frames(record_itself):
    """Suspended generators, handlers and blocks are open when it begins, and others when it ends."""
    seen, rebuilt = record_itself("""
        def counting(limit):
            for n in range(limit):
                try:
                    yield n
                finally:
                    n += 1

        def outer(generator):
            total = 0
            try:
                raise KeyError
            except KeyError:
                for k in range(5):
                    if k == 2:
                        begin()
                    total += next(generator)
                    if k == 4:
                        end()
            return total

        running = counting(9)
        next(running)
        outer(running)
    """)
    assert seen and rebuilt == seen


def test_threads_that_run_when_it_begins(record_itself):
    seen, rebuilt = record_itself("""
        import threading
        ready, go, done = threading.Event(), threading.Event(), threading.Event()

        def work():
            ready.set()
            go.wait()
            total = 0
            for n in range(50):
                if n % 3:
                    total += n
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        ready.wait()
        begin()
        go.set()
        done.wait()
        thread.join()
        end()
    """)
    assert {line for _, line in seen} and sorted(rebuilt) == sorted(seen)


@pytest.fixture
def record_itself(python, importing, events, tmp_path):
    """Run a program that calls begin() and end(): the (function, line) pairs that a tool saw in between, and those rebuilt."""
    def run(text):
        trace, seen, program = tmp_path / "trace.kymo", tmp_path / "seen", tmp_path / "program.py"
        program.write_text(textwrap.dedent(text))
        (tmp_path / "main.py").write_text(textwrap.dedent(f"""
            import marshal, sys
            import kymo
            seen, tools = [], sys.monitoring

            def line(code, number):
                if code.co_filename == {str(program)!r}:
                    seen.append((code.co_qualname, number))

            def begin():
                kymo.start({str(trace)!r}, events="flow")
                tools.use_tool_id(4, "seen")
                tools.register_callback(4, tools.events.LINE, line)
                tools.register_callback(4, tools.events.PY_START, lambda *_: None)
                tools.set_events(4, tools.events.LINE | tools.events.PY_START)

            def end():
                tools.set_events(4, 0)
                kymo.stop()

            source = open({str(program)!r}).read()
            exec(compile(source, {str(program)!r}, "exec"), {{"begin": begin, "end": end, "__name__": "program"}})
            marshal.dump(seen, open({str(seen)!r}, "wb"))
        """))
        subprocess.run([python, tmp_path / "main.py"], env=environment(importing), timeout=300, check=True)
        return marshal.loads(seen.read_bytes()), lines_of(events(trace), "program.py")
    return run


def test_forked_children_go_on_with_their_parents_stack(record, events, tmp_path):
    read = without_ends(events(record(BUSY + textwrap.dedent("""
        import os
        def parent():
            for n in range(3):
                child = os.fork()
                if not child:
                    work(2)
                    os._exit(0)
                os.waitpid(child, 0)
        parent()
    """), "--events=flow")))
    check_no_gaps(read)
    by_process = {}
    for event in read:
        by_process.setdefault(event["pid"], []).append(event)
    first, *children = [lines_of(each, "program-1.py") for _, each in
                        sorted(by_process.items(), key=lambda item: item[0] != read[0]["pid"])]
    assert len(children) == 3 and all(child == children[0] for child in children)
    assert children[0][0][0] == "parent" and ("work", 24) in children[0], "it goes on inside its parent's frame"
    assert [function for function, _ in first].count("work") == 0


def test_code_that_cannot_be_rebuilt_is_recorded_line_by_line(observe, record, events, kymo, tmp_path):
    """An exception table with an entry beyond the code: the interpreter never comes there."""
    text = BUSY + textwrap.dedent("""
        def strange(n):
            total = 0
            for k in range(n):
                if k % 2:
                    total += odd(k)
            return total
        code = strange.__code__
        strange.__code__ = code.replace(co_exceptiontable=code.co_exceptiontable + bytes([0xff, 63, 1, 1, 0]))
        print(strange(6), work(2), strange(3))
    """)
    reference = [(event[2], event[3]) for event in observe(text) if event[0] == "LINE"]
    trace = record([tmp_path / "program.py"], "--events=flow", "--include=program.py")
    read = events(trace)
    check_no_gaps(read)
    assert lines_of(read, "program.py") == reference
    assert {event["function"] for event in read if event["event"] == "LINE" and "k" not in event} == {"strange"}
    assert " 1\n" in next(line + "\n" for line in kymo("stats", trace).stdout.splitlines() if "line by line" in line)


def test_frames_that_are_hard_to_tell_apart(compare):
    compare((ROOT / "tests" / "python" / "programs" / "entangled.py").read_text())


@pytest.mark.parametrize("lines", [100, 399, 1200])
@pytest.mark.parametrize("where", ["module", "function"])
def test_handlers_far_from_where_their_code_begins(where, lines, compare):
    """Where 3.13.0 to 3.13.2 cannot keep a handler's line in 8 bits, it comes again, though what raised has the same line."""
    compare(textwrap.dedent(f"""
        class CM:
            def __init__(self, fails): self.fails = fails
            def __enter__(self):
                if self.fails: raise KeyError
            def __exit__(self, *_): return True
        body = ["with CM(False), CM(True): pass", *["x = x + 1"] * {lines}, "for x in (1, 2):", "    with CM(x == 2): pass"]
        x = 0
        if {where == "function"}:
            body = ["def far(x):", *("    " + line for line in body), "far(0)"]
        try: exec(compile("\\n".join(body), __file__, "exec"))
        except KeyError: pass
    """))


INLINED = """
class D:
    def __init__(self, n=0): self.n = n
    def __del__(self): x = 1
    def __getitem__(self, i):
        if i == 4: raise KeyError
        return self
    @property
    def here(self): return self
class CM:
    def __enter__(self): return 3
    def __init__(self, swallows=True): self.swallows = swallows
    def __exit__(self, *_): return self.swallows
def one(): return 1
def subscripts():
    y = (one() and D()[
D()])
    y = (one() and D()[D()])
    with CM() as i: y = D()[
i + 1]
    with CM() as i: y = D()[i + 1]
def reraised():
    with CM(), CM(False): y = D()[
4]
def attributes():
    y = (
one() and D(
).here)
    y = (one() and D().here)
def calls(*args):
    y = (one() and D(
one()))
    with CM() as i: y = D(
one()[2])
    with CM() as i: y = D(
one()).n.m
    with CM() as i: y = D(
1, *args)
for n in range(60):
    subscripts()
    reraised()
    attributes()
    calls()
"""


def test_what_fast_paths_call_where_a_line_begins(compare):
    """3.12 takes none there where LINE events are asked for, and has the frame in other places then."""
    compare(INLINED)


RAISED = """
def fails(a, b): raise KeyError
class D:
    def __init__(self, a): raise KeyError
    @property
    def here(self): raise KeyError
    def __getitem__(self, i): raise KeyError
    def __add__(self, i): raise KeyError
def numbers(): yield fails(
1, 2)
def called(a): return fails(
a,
2)
def kept(a):
    try: return (
fails(
a,
2))
    finally: a = 1
def found(d): return (
d
[
1
])
def held(d): return (
d.
here)
def made(): return D(
1)
def added(d): return (
d
+
1)
def looped():
    for n in (
numbers(
)): pass
def delegated():
    yield from (
numbers())
def run():
    for n in range(30):
        for call in (called, kept, found, held, added):
            try: call(object.__new__(D))
            except KeyError: pass
        for call in (made, looped, lambda: list(delegated()), lambda: [*map(called, [1])], lambda: called(*(1,))):
            try: call()
            except KeyError: pass
run()
"""


def test_exceptions_have_the_lines_of_tracebacks(compare, kymo, tmp_path):
    """From 3.13 on, CPython names the instruction before the call that an exception came out of: that is kept as the offset."""
    read = compare(RAISED)
    lines = {}
    for event in read:
        if event["event"] in ("RAISE", "PY_UNWIND"):
            lines.setdefault(event["function"], set()).add(event["line"])
    assert lines["called"] == {11} and lines["made"] == {28} and 16 in lines["kept"]
    assert {*re.findall(r"RAISE .*program.py:(\d+) called ", kymo("tail", "-n", "100000", tmp_path / "trace-1.kymo").stdout)} == {"11"}


PASSING = """
from operator import methodcaller

def inner():
    while True:
        try:
            yield 1
        except KeyError:
            pass

def once():
    try:
        yield 1
    except KeyError:
        return 5

def outer():
    yield from inner()

def other():
    yield from inner()

def twice():
    x = yield from once()
    x += 1
    yield from inner()

def throw_from_one_place():
    a, b = twice(), twice()
    next(a), next(b)
    a.throw(KeyError)
    list(map(methodcaller("throw", KeyError), [a, a, b, a, b]))

def driver(passed):
    x = yield from once()
    x += 1
    passed.throw(KeyError)
    x += 1
    yield x

def main():
    a, b, c = outer(), other(), outer()
    next(a), next(b), next(c)
    a.throw(KeyError)
    x = 1
    b.throw(KeyError)
    x = 2
    a.throw(KeyError)
    x = 3
    c.throw(KeyError)
    x = 4
    c.throw(KeyError)
    c.throw(KeyError)
    d = driver(a)
    next(d)
    d.throw(KeyError)
    d = driver(driver(a))
    next(d)
    try:
        d.throw(KeyError)
    except KeyError:
        x = 7
    for g in (a, b, c):
        g.throw(KeyError)
        del g
    throw_from_one_place()

def deep(n):
    return main() if n == 0 else deep(n - 1)
"""


@pytest.mark.parametrize("use", ["main()", "for n in range(300): deep(60)"], ids=["flat", "where chunks end"])
def test_generators_that_pass_exceptions_on(use, compare):
    """They are on the stack without an event, and gone without one: what called them goes on, also at the end of a chunk."""
    compare(PASSING + use + "\n")


def test_times_of_what_is_rebuilt_reach_back_to_what_was_recorded_before(record, events, importing):
    """A line that takes long is told by what comes after it; it began right after what came before."""
    read = events(record("import kymo\nkymo.mark('before')\nx = sum(range(10**7))\nkymo.mark('after')\n", "--events=flow",
                         env=importing))
    before, after = (next(event for event in read if event.get("mark") == text) for text in ("before", "after"))
    line = next(event for event in read if event["event"] == "LINE" and event["line"] == 3 and event["function"] == "<module>"
                and event["n"] > before["n"])
    assert line["t_ns"] - line["t_err_ns"] <= before["t_ns"] + before["t_err_ns"]
    assert line["t_ns"] + line["t_err_ns"] >= before["t_ns"] - before["t_err_ns"]
    assert line["t_ns"] <= after["t_ns"]


def test_threads_are_rebuilt_side_by_side(observe, record, events, tmp_path):
    """Their cursors walk through the same code by turns, and each finds walks that are new."""
    text = BUSY + textwrap.dedent("""
        import threading
        def run(limit):
            for n in range(limit):
                work(n)
        threads = [threading.Thread(target=run, args=(limit,)) for limit in (9, 5, 7, 3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """)
    program = tmp_path / "program.py"
    program.write_text(text)
    read = events(record([program], "--events=flow", "--include=program.py"))
    check_no_gaps(read)
    by_thread = {}
    for event in read:
        by_thread.setdefault(event["tid"], []).append(event)
    alone = {}
    for limit in (9, 5, 7, 3):
        alone[limit] = [line for line in map(tuple, observe(BUSY + f"""
def run(limit):
    for n in range(limit):
        work(n)
run({limit})
""")) if line[0] == "LINE" and line[2] != "<module>"]
    _, *threads = by_thread.values()
    got = sorted([function for function, _ in lines_of(each, "program.py")] for each in threads)
    assert got == sorted([line[2] for line in each] for each in alone.values())


JUMP_RAISES = """
import sys
tools, events = sys.monitoring, sys.monitoring.events
def raises(code, source, dest):
    if code.co_name == "loop":
        raise KeyError
tools.use_tool_id(4, "raises")
tools.register_callback(4, events.JUMP, raises)
tools.set_events(4, events.JUMP)
def loop():
    for k in range(3):
        k += 1
    return k
try:
    loop()
except KeyError:
    pass
"""


@pytest.mark.skipif(sys.version_info < (3, 14), reason="the interpreter goes on from nowhere")
def test_a_jump_whose_callback_raises_looks_like_its_destination(record, events):
    """The interpreter gives the exception the place of the FOR_ITER, which did not run a second time."""
    told = events(record(JUMP_RAISES, "--events=flow"), "--function=loop", "--kind=LINE,RAISE")
    assert [(event["event"], event["line"]) for event in told] == [("LINE", 11), ("LINE", 12), ("LINE", 11), ("RAISE", 11)]
