# SPDX-License-Identifier: Apache-2.0
"""Going through runs forwards and backwards, against a model that looks at every event."""
import json
import random
import textwrap

import pytest
from generated_programs import FRAME, programs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from replay_model import Thread

import kymo as library
from streams import first_difference

MOVES = ["next_event", "prev_event", "step_in", "step_in_back", "step_over", "step_over_back", "step_out", "step_out_back"]
FORWARD = {"next_event", "step_in", "step_over", "step_out"}

# Calls, generators, coroutines, exceptions that pass through frames, recursion deeper than a chunk lists, all deterministic.
PROGRAM = """
import asyncio

def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)

def numbers(limit):
    for n in range(limit):
        try:
            yield n
        finally:
            last = n

def risky(n):
    try:
        if n % 3 == 0:
            raise ValueError(n)
        return deeper(n)
    except ValueError:
        return -1

def deeper(n):
    if n % 5 == 0:
        raise ValueError(n)
    return n

def deep(n):
    if n == 0:
        return [x for x in numbers(3)]
    return deep(n - 1)

async def wait(n):
    await asyncio.sleep(0)
    return risky(n)

async def gather():
    return await asyncio.gather(*(wait(n) for n in range(6)))

class Manager:
    def __enter__(self):
        return self
    def __exit__(self, *exception):
        return True

def main(rounds):
    total = 0
    for k in range(rounds):
        for n in numbers(7):
            total += risky(n) + fib(n)
            if n == 5:
                break
        with Manager():
            raise KeyError(k)
        deep(600 if k % 4 == 0 else 3)
        asyncio.run(gather())
    return total

main({rounds})
"""


@pytest.fixture(scope="module", params=[("flow", 120), ("full", 25), ("calls", 120)], ids=lambda param: param[0])
def trace(request, kymo, tmp_path_factory):
    """A trace of many small chunks."""
    profile, rounds = request.param
    folder = tmp_path_factory.mktemp(profile)
    (folder / "program.py").write_text(PROGRAM.replace("{rounds}", str(rounds)))
    kymo("record", "-q", "-o", folder / "run.kymo", f"--events={profile}", "--include=program.py", "--ring-size=8K",
         folder / "program.py")
    assert int(kymo("index", folder / "run.kymo").stdout.split()[0]) > 20
    return folder / "run.kymo"


@pytest.fixture(scope="module")
def thread(trace, kymo):
    return Thread(json.loads(line) for line in kymo("events", "--jsonl", trace).stdout.splitlines())


def state_of(cursor):
    event = cursor.event
    return (event.n, event.k), event.event, [tuple(frame) for frame in cursor.stack]


def check(cursor, thread, at, *context):
    """The cursor stands in state `at` of the thread.  A recording of calls tells where callers are at times only."""
    position, event, stack = state_of(cursor)
    known = len(stack) if thread.has_lines else 1
    assert (position, event) == (thread.position(at), thread.states[at].event["event"]), context
    assert stack[:known] == list(thread.states[at].stack[:known]), context
    assert [frame[:2] for frame in stack] == [frame[:2] for frame in thread.states[at].stack], context


def test_every_state_is_that_of_the_model(trace, thread):
    """Reached from the start, from the end, and by jumping."""
    with library.open(trace) as opened:
        cursor = opened.cursor("start")
        for at in range(3000):
            check(cursor, thread, at)
            assert cursor.next_event() == "moved"
        cursor.goto("100%")
        for at in range(len(thread.states) - 1, len(thread.states) - 200, -1):
            check(cursor, thread, at)
            assert cursor.prev_event() == "moved"
        for at in random.Random(1).sample(range(len(thread.states)), 300):
            cursor.seek(*thread.position(at))
            check(cursor, thread, at)


def walk(path, thread, choose, walks):
    """Each move leads where the model's does."""
    with library.open(path) as opened:
        cursor = opened.cursor()
        for number in range(walks):
            at = choose.randrange(len(thread.states))
            cursor.seek(*thread.position(at))
            check(cursor, thread, at, number)
            for step in range(20):
                move = choose.choice(MOVES)
                wanted = getattr(thread, move)(at)
                stop = getattr(cursor, move)()
                if wanted is None:
                    assert stop == "end", (number, step, at, move)
                    wanted = len(thread.states) - 1 if move in FORWARD else 0
                else:
                    assert stop == "moved", (number, step, at, move)
                check(cursor, thread, wanted, number, step, at, move)
                at = wanted


def test_random_walks(trace, thread):
    walk(trace, thread, random.Random(2), 40)


@pytest.mark.parametrize("profile", ["flow", "full"])
def test_stepping_back_goes_on_before_an_outermost_frame(profile, kymo, tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent("""
        import atexit
        def callback(n):
            total = 0
            for k in range(n % 7):
                total += len([k])
            return total
        for n in range(300):
            atexit.register(callback, n)
        """))
    output = tmp_path / "run.kymo"
    kymo("record", "-q", "-o", output, f"--events={profile}", "--include=program.py", "--ring-size=8K", tmp_path / "program.py")
    thread = Thread(json.loads(line) for line in kymo("events", "--jsonl", output).stdout.splitlines())
    assert sum(len(state.frames) == 1 and state.event["event"] == "PY_START" for state in thread.states) == 301
    with library.open(output) as opened:
        cursor = opened.cursor("100%")
        at = len(thread.states) - 1
        for _ in range(2000):
            at = thread.step_over_back(at)
            assert cursor.step_over_back() == "moved"
            check(cursor, thread, at)


@pytest.mark.parametrize("profile", ["flow", "full"])
def test_stepping_out_backwards_leads_into_long_chunks(profile, kymo, events, tmp_path):
    """The caller's line is anywhere in a chunk of some ten thousand events, and its callee goes on for chunks."""
    (tmp_path / "program.py").write_text(textwrap.dedent("""
        def spin(n):
            odd = 0
            for k in range(n):
                if k & 1:
                    odd += 1
            return odd
        def caller():
            for n in (2500, 7000, 500, 9000, 40000, 15000, 1000, 60000, 12000, 100, 9000, 20000) * 2:
                spin(5)
                spin(n)
        caller()
        """))
    output = tmp_path / "run.kymo"
    kymo("record", "-q", "-o", output, f"--events={profile}", "--include=program.py", tmp_path / "program.py")
    lines = events(output, "--kind=LINE", "--function=caller")
    found = set()
    with library.open(output) as opened:
        assert opened.threads[0]["chunks"] > 4
        cursor = opened.cursor()
        for n in random.Random(4).sample(range(lines[0]["n"], opened.threads[0]["last"]), 100):
            cursor.seek(n)
            if cursor.event.function != "spin":
                continue
            wanted = [line for line in lines if line["n"] <= n][-1]
            assert cursor.step_out_back() == "moved"
            assert (cursor.event.n, cursor.event.k, cursor.event.line) == (wanted["n"], wanted.get("k", 0), wanted["line"]), n
            assert [frame.function for frame in cursor.stack] == ["caller", "<module>"]
            found.add(cursor.event.n)
    assert len(found) > 5


@pytest.mark.parametrize("profile", ["flow", "calls", "full"])
def test_stepping_out_where_the_caller_only_calls(profile, kymo, tmp_path):
    """Nothing is recorded of the caller between its calls, which end in later chunks than they begin in."""
    (tmp_path / "program.py").write_text("def g(n): return n\ndef f():\n    for k in range(99): g(k)\n" + "f()\n" * 60)
    output = tmp_path / "run.kymo"
    kymo("record", "-q", "-o", output, f"--events={profile}", "--include=program.py", "--ring-size=8K", tmp_path / "program.py")
    thread = Thread(json.loads(line) for line in kymo("events", "--jsonl", output).stdout.splitlines())
    with library.open(output) as opened:
        assert opened.threads[0]["chunks"] > 4
        cursor = opened.cursor()
        for at, state in enumerate(thread.states):
            if len(state.frames) == 2 and state.event["event"] == "PY_START":
                cursor.seek(*thread.position(at))
                assert cursor.step_out() == "moved"
                check(cursor, thread, thread.step_out(at), at)


@pytest.mark.parametrize("profile", ["flow", "full"])
def test_lines_before_where_the_caller_only_calls(profile, kymo, tmp_path):
    """The same backwards: the caller's last line may be in a chunk in which nothing is recorded of it but what it called."""
    (tmp_path / "program.py").write_text("def g(n): return n\ndef f(count):\n    for k in range(count): g(k)\n" +
                                         "g(1)\nf(9)\nf(9)\nf(400)\n" * 20)
    output = tmp_path / "run.kymo"
    kymo("record", "-q", "-o", output, f"--events={profile}", "--include=program.py", "--ring-size=8K", tmp_path / "program.py")
    thread = Thread(json.loads(line) for line in kymo("events", "--jsonl", output).stdout.splitlines())
    with library.open(output) as opened:
        assert opened.threads[0]["chunks"] > 4
        cursor = opened.cursor()
        for at in range(0, len(thread.states), 37):
            if len(thread.states[at].frames) != 2:
                continue
            cursor.seek(*thread.position(at))
            assert cursor.step_out_back() == "moved"
            check(cursor, thread, thread.step_out_back(at), at)


@pytest.mark.parametrize("move", ["step_over", "step_out", "step_in"])
def test_from_a_gap_a_step_leads_to_what_is_known_next(move, kymo, tmp_path):
    (tmp_path / "program.py").write_text("def f(n):\n    for k in range(n):\n        k += 1\n\nfor n in range(400):\n    f(100)\n")
    output = tmp_path / "run.kymo"
    kymo("record", "-q", "-o", output, "--policy=overwrite", "--events=full", "--include=program.py", "--ring-size=8K",
         tmp_path / "program.py")
    events = [json.loads(line) for line in kymo("events", "--jsonl", output).stdout.splitlines()]
    assert events[0]["event"] == "GAP"
    line = next(event for event in events if event["event"] == "LINE")
    with library.open(output) as opened:
        cursor = opened.cursor("start")
        assert cursor.event.event == "GAP"
        assert getattr(cursor, move)() == "moved"
        assert (cursor.event.event, cursor.event.n) == ("LINE", line["n"])


@settings(max_examples=8, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs(), st.randoms(use_true_random=False), st.sampled_from(["flow", "full"]))
def test_random_walks_in_generated_programs(record, events, tmp_path, text, choose, profile):
    (tmp_path / "program.py").write_text(text + text.removeprefix(FRAME) * 7)
    path = record([tmp_path / "program.py"], f"--events={profile}", "--include=program.py", "--ring-size=8K")
    walk(path, Thread(events(path)), choose, 12)


def test_forwards_then_backwards(trace):
    choose = random.Random(3)
    with library.open(trace) as opened:
        last = opened.threads[0]["last"]
        cursor = opened.cursor()
        for _ in range(20):
            cursor.seek(choose.randrange(1, last))
            before, steps = state_of(cursor), choose.randrange(1, 60)
            moved = [cursor.next_event() for _ in range(steps)].count("moved")
            for _ in range(moved):
                assert cursor.prev_event() == "moved"
            assert state_of(cursor) == before


BREAKS = [
    ("break_at", ("program.py", 17), lambda e: e["event"] == "LINE" and e["line"] == 17),
    ("break_at_function", ("deep",), lambda e: e["event"] == "PY_START" and e["function"] == "deep"),
    ("break_at_function", ("Manager.__exit__",), lambda e: e["event"] == "PY_START" and e["function"] == "Manager.__exit__"),
]


@pytest.mark.parametrize("method, where, is_hit", BREAKS, ids=["line", "function", "method"])
def test_breaks(method, where, is_hit, trace, thread):
    hits = [at for at, state in enumerate(thread.states) if is_hit(state.event)]
    if not hits:
        pytest.skip("this recording has no lines")
    with library.open(trace) as opened:
        cursor = opened.cursor("start")
        number = getattr(cursor, method)(*where)
        for at in hits[:40]:
            assert cursor.resume() == "break" and cursor.hit == number
            check(cursor, thread, at)
        cursor.goto("100%")
        for at in hits[:-40:-1]:
            assert cursor.resume_back() == "break" and cursor.hit == number
            check(cursor, thread, at)
        cursor.remove_break(number)
        assert cursor.resume() == "end" and cursor.hit is None


@pytest.mark.parametrize("condition, keeps", [
    ("hits % 7 == 3", lambda at, state: at % 7 == 2),
    ("depth > 10", lambda at, state: len(state.stack) > 10),
    ("caller == 'deep' and depth < 100", lambda at, state: state.stack[1][1] == "deep" and len(state.stack) < 100),
])  # fmt: skip
def test_conditions(condition, keeps, trace, thread):
    calls = [i for i, state in enumerate(thread.states) if state.event["event"] == "PY_START" and state.stack[0][1] == "deep"]
    hits = [i for at, i in enumerate(calls) if keeps(at, thread.states[i])]
    with library.open(trace) as opened:
        cursor = opened.cursor("start")
        cursor.break_at_function("deep", condition)
        for at in hits[:30]:
            assert cursor.resume() == "break"
            check(cursor, thread, at)
        for at in hits[:30][-2::-1]:
            assert cursor.resume_back() == "break"
            check(cursor, thread, at)


def test_exceptions_stop_where_they_are_raised_first(trace, thread):
    """Not again in each frame that they pass through."""
    raised = [(state.event["n"], state.stack[0][1]) for at, state in enumerate(thread.states)
              if state.event["event"] == "RAISE" and state.event["exception"] == "ValueError"
              and thread.states[at - 1].event["event"] != "PY_UNWIND"]
    seen = []
    with library.open(trace) as opened:
        cursor = opened.cursor("start")
        cursor.break_at_exception("ValueError")
        while cursor.resume() == "break":
            seen.append((cursor.event.n, cursor.event.function))
    assert seen == raised


@pytest.mark.parametrize("profile", ["flow", "full", "calls"])
def test_exceptions_that_pass_on_while_a_chunk_ends(profile, kymo, tmp_path):
    """Chunks begin anywhere between frames that are left."""
    (tmp_path / "program.py").write_text(textwrap.dedent("""
        def deep(n):
            if n == 0:
                raise ValueError(n)
            deep(n - 1)
        for k in range(200):
            try:
                deep(40)
            except ValueError:
                pass
        """))
    output = tmp_path / "run.kymo"
    kymo("record", "-q", "-o", output, f"--events={profile}", "--include=program.py", "--ring-size=8K", tmp_path / "program.py")
    with library.open(output) as opened:
        cursor = opened.cursor("start")
        cursor.break_at_exception("ValueError")
        depths = []
        while cursor.resume() == "break":
            depths.append(len(cursor.stack))
        assert depths == [42] * 200
        while cursor.resume_back() == "break":
            depths.pop()
        assert not depths


def test_full_and_flow_tell_the_same(kymo, tmp_path):
    """The same lines, with the same stacks, where the program does the same."""
    (tmp_path / "program.py").write_text(PROGRAM.replace("{rounds}", "2"))
    runs = []
    for profile in ("flow", "full"):
        output = tmp_path / f"{profile}.kymo"
        kymo("record", "-q", "-o", output, f"--events={profile}", "--include=program.py", tmp_path / "program.py")
        with library.open(output) as opened:
            cursor = opened.cursor("start")
            lines = []
            while cursor.step_in() == "moved":
                lines.append([tuple(frame) for frame in cursor.stack])
            assert len(lines) == opened.threads[0]["lines"]
            runs.append(lines)
    assert len(runs[0]) > 500
    assert first_difference(*runs) is None


THREADS = textwrap.dedent("""
    import sys, threading
    sys.setswitchinterval(1e-5)
    def work(n):
        total = 0
        for k in range(4000):
            total += k % n
        return total
    threads = [threading.Thread(target=work, args=(n,), name=f"worker-{n}") for n in (2, 3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
""")


@pytest.fixture(scope="module")
def threaded(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("threads")
    (folder / "threads.py").write_text(THREADS)
    kymo("record", "-q", "-o", folder / "run.kymo", "--include=threads.py", "--ring-size=8K", folder / "threads.py")
    return folder / "run.kymo"


def test_other_threads_are_where_they_were_at_the_moment(threaded):
    """By the order in which `events` merges them."""
    with library.open(threaded) as opened:
        order = list(opened.events())
        cursor = opened.cursor()
        for at in random.Random(4).sample(range(len(order)), 60):
            here = order[at]
            for thread in range(len(opened.threads)):
                before = [event for event in order[:at + 1] if event.thread == thread]
                cursor.seek(here.n, here.k, here.thread)
                assert cursor.switch(thread) == bool(before)
                if before:
                    assert (cursor.event.n, cursor.event.k) == (before[-1].n, before[-1].k)


def test_switches_are_stepped_through_in_order(threaded):
    with library.open(threaded) as opened:
        order = list(opened.events())
        turns = [event for last, event in zip(order, order[1:]) if event.turn != last.turn]
        before = [last for last, event in zip(order, order[1:]) if event.turn != last.turn]
        assert len(turns) > 3
        cursor = opened.cursor("start")
        for event in turns[:50]:
            assert cursor.next_switch() == "moved"
            assert (cursor.event.thread, cursor.event.n, cursor.event.k) == (event.thread, event.n, event.k)
        for event in before[:50][::-1]:
            assert cursor.prev_switch() == "moved"
            assert (cursor.event.thread, cursor.event.turn) == (event.thread, event.turn)


def test_breaks_are_found_in_all_threads_in_order(threaded):
    with library.open(threaded) as opened:
        hits = [event for event in opened.events(kinds="LINE") if event.line == 7]
        cursor = opened.cursor("start")
        cursor.break_at("threads.py", 7)
        for event in hits[:50]:
            assert cursor.resume() == "break"
            assert (cursor.event.thread, cursor.event.n, cursor.event.k) == (event.thread, event.n, event.k)
        for event in hits[:49][::-1]:
            assert cursor.resume_back() == "break"
            assert (cursor.event.thread, cursor.event.n, cursor.event.k) == (event.thread, event.n, event.k)


@pytest.mark.parametrize("profile, rounds", [("flow", 60), ("full", 10)])
def test_where_events_are_missing_they_are_passed_one_by_one(profile, rounds, kymo, events, tmp_path):
    """A gap is a place like any other, from either side and by jumping."""
    (tmp_path / "program.py").write_text(PROGRAM.replace("{rounds}", str(rounds)))
    path = tmp_path / "run.kymo"
    kymo("record", "-q", "-o", path, f"--events={profile}", "--include=program.py", "--ring-size=8K", "--no-sources",
         tmp_path / "program.py")
    whole = bytearray(path.read_bytes())
    frames = [at for at in range(len(whole) - 8) if whole[at:at + 8] == b"KYRF\x01\x00\x01\x00"]
    assert len(frames) > 4
    for at in frames[1], frames[2], frames[4]:
        whole[at + 130] ^= 0xFF
    path.write_bytes(whole)
    read = [(event["n"], event.get("k", 0), event["event"]) for event in events(path)]
    gaps = [at for at, event in enumerate(read) if event[2] == "GAP"]
    assert len(gaps) in (2, 3)  # two may lie side by side
    with library.open(path) as opened:
        assert [event.n for event in opened.losses if event.event == "GAP"] == [read[at][0] for at in gaps]
        cursor = opened.cursor("start")
        for at in range(len(read)):
            assert (cursor.event.n, cursor.event.k, cursor.event.event) == read[at]
            assert cursor.next_event() == ("end" if at == len(read) - 1 else stop_at(read[at + 1]))
        for gap in gaps:
            cursor.seek(*read[gap + 50][:2])
            for at in range(gap + 49, gap - 50, -1):
                assert cursor.prev_event() == stop_at(read[at])
                assert (cursor.event.n, cursor.event.k, cursor.event.event) == read[at]
            cursor.seek(read[gap][0] + 7)
            assert cursor.event.event == "GAP"


def stop_at(event):
    return "missing" if event[2] in ("GAP", "UNKNOWN") else "moved"
