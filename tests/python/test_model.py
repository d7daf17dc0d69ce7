# SPDX-License-Identifier: Apache-2.0
"""`kymo events` against tests/model/kymo_model.py, which knows docs/format.md and none of the C code."""
import random
import signal
from itertools import zip_longest
from pathlib import Path

import pytest
from kymo_model import CALLS, EXCEPTIONS, JUMPS, KINDS, PROVISIONAL, TASKS, Trace, sync_block
from trace_builder import TraceBuilder
from trace_builder import sync_block as make_sync_block

from streams import lost, threads_of

PROGRAMS = Path(__file__).parent / "programs"
PROGRAM = """\
import os, threading, kymo

class Oops(Exception):
    pass

def numbers(n):
    for i in range(n):
        yield i

def work(n):
    total = 0
    for i in numbers(n):
        try:
            if i % 5 == 0:
                raise Oops(i)
            total += i if i % 3 else len(str(i))
        except Oops:
            total -= 1
    kymo.mark(f"{n} done: \\u00fc \\x07")
    return total

def child():
    exec(compile("def late(x):\\n    return [y for y in x if y]\\n\\n\\n\\nlate([0, 1])", "late.py", "exec"))
    return work(7)

threads = [threading.Thread(target=work, args=(50,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if os.fork() == 0:
    child()
    if os.fork() == 0:
        child()
        os._exit(0)
    os.wait()
    os._exit(0)
os.wait()
work(100)
"""


@pytest.fixture
def compare(events):
    """compare(path): check that kymo and the model see the same events; returns the model's Trace."""
    def check(path):
        trace = Trace(path)
        model = threads_of(event for stream in trace.events().values() for event in stream)
        program = threads_of(events(path))
        assert model.keys() == program.keys()
        for thread, expected in model.items():
            for want, got in zip_longest(expected, program[thread], fillvalue={}):
                low, high = want.pop("t_ns", 0), want.pop("t_err_ns", 0)
                low, high = low - high - 2, low + high + 2  # rounding is free within 1 ns
                want = {name: value for name, value in want.items() if name[0] != "_"}
                assert want.items() <= got.items(), f"{thread}: {want}\nbut kymo has {got}"
                if got["event"] != "GAP":  # the program may know the time better than the format promises
                    assert low <= got["t_ns"] - got["t_err_ns"] <= got["t_ns"] + got["t_err_ns"] <= high, got
        return trace
    return check


def check_frames(trace):
    """What holds for every trace that was closed undisturbed."""
    assert trace.is_closed and not trace.damage
    frames = [frame for frame in trace.frames if frame.header.kind <= 2]
    fields = "seq first_ordinal last_ordinal open_clock close_clock process thread ring kind flags".split()
    assert [tuple(entry) for entry in trace.index] == [
        (frame.offset, *(getattr(frame.header, field) for field in fields)) for frame in frames
    ]
    for (number, _), chunks in trace.streams().items():
        for _, header, payload in chunks:
            depth, listed = sync_block(payload, header.sync_bytes)
            assert depth >= len(listed)
            for code, _ in listed:
                assert trace.processes[number].find("code", code)[0], "a frame on the stack without a definition"


@pytest.mark.parametrize("options", [
    "--events=calls",
    "--events=calls --c-calls --clock=exact",
    "--events=full",
    "--events=full --clock=none",
    "--events=coverage",
    "--events=branch-bits",
    "--events=LINE,INSTRUCTION,JUMP",
    "--events=full --policy=drop --ring-size=8K",
    "--events=full --policy=overwrite --ring-size=8K",
])
def test_recordings(options, record, compare, importing):
    trace = compare(record(PROGRAM, *options.split(), env=importing))
    check_frames(trace)
    streams = trace.events()
    assert len(trace.processes) == 3 and len(streams) == 6
    assert any(event["event"] == "MARK" and event["mark"] == "7 done: \u00fc \x07" for event in streams[3, 1])
    if "drop" not in options and "overwrite" not in options:
        assert not any(map(lost, streams.values()))


def test_a_killed_process_leaves_open_chunks(record, compare, importing):
    program = PROGRAM + "os.kill(os.getpid(), 9)\n"
    trace = compare(record(program, "--events=full", status=-signal.SIGKILL, env=importing))
    check_frames(trace)
    assert any(frame.header.flags & PROVISIONAL for frame in trace.frames)


@pytest.mark.parametrize("profile", ["calls", "full"])
def test_tasks(profile, record, compare, tmp_path):
    trace = compare(record([PROGRAMS / "awaiting.py", tmp_path / "told"], f"--events={profile}", "--include=awaiting.py"))
    check_frames(trace)
    assert len({event["task"] for stream in trace.events().values() for event in stream if "task" in event}) > 100


def test_another_interpreter(record, compare):
    program = """\
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def here():
    return 1
here()
other = interpreters.create()
interpreters.run_string(other, "def there():\\n    return 2\\nthere()")
here()
interpreters.destroy(other)
"""
    trace = compare(record(program, "--events=LINE,calls", "--include=program*", "--include=<*"))
    check_frames(trace)
    stream, = trace.events().values()
    started = [(event["function"], event["_interpreter"]) for event in stream if event["event"] == "PY_START"]
    functions = [name for name, _ in started if name in ("here", "there")]
    assert functions == ["here", "there", "here"], started
    assert len({interpreter for _, interpreter in started}) == 2


# Traces that no recorder would make within a test


RUN = "session", {"started_unix_ns": 0, "counter": 1, "config": {"policy": 1, "clock_mode": 3}}
CLOCKS = [("clock", {"counter": c, "monotonic_ns": 2 * c, "unix_ns": 2 * c}) for c in (1, 1000)]


def definitions(first, last, file):
    """Codes, names, texts and tasks with the ids from @first to @last; every second code is a coroutine's."""
    for id in range(first, last + 1):
        content = {"id": id, "file": file, "qualname": f"f{id}", "first_line": 100 * id, "bytecode": bytes(400)}
        yield "content", content | {"line_table": bytes.fromhex("ea01") * 20, "flags": 0x80 * (id % 2)}
        yield "code", {"id": id, "content": id, "entry_offset": id % 3}
        yield "name", {"id": id, "name": f"{file}:{id}"}
        yield "text", {"id": id, "text": f"text {file}:{id}"}
        yield "task", {"id": id, "name": f"task {file}:{id}"}


def process(number, *more, parent=0, at=0):
    folder = f"{1000 + number}-1-x"
    forked = {"forked_from": f"{1000 + parent}-1-x", "forked_at": at} if parent else {}
    yield "process", {"pid": 1000 + number, "folder": folder} | forked
    for thread in range(1, 9):
        yield "thread", {"thread": thread, "native_id": 10 * number + thread, "name": f"t{thread}"}
    yield from more


def start(*more):
    builder = TraceBuilder(required_features=TASKS)
    return builder.meta(0, RUN, *CLOCKS).meta(1, *process(1, *definitions(1, 9, "a.py"), *more))


@pytest.fixture
def built(tmp_path, compare):
    """built(builder): its trace, as kymo and the model agree on it, as lists of events by (process, thread)."""
    def check(builder):
        path = tmp_path / "built.kymo"
        path.write_bytes(builder.data)
        return compare(path).events()
    return check


def brief(events):
    return [(event["n"], event["event"], event.get("lost") or event.get("line")) for event in events]


def test_gaps_by_their_causes(built):
    end = {"thread": 1, "last_ordinal": 50, "lost": 3, "lost_reasons": 64}
    trace = start(("thread_end", end))
    line = ("CODE", 1), ("LINE", 5)
    trace.chunk(*line, first_ordinal=5, last_ordinal=5, lost_before=3, lost_reasons=5)
    trace.chunk(*line, seq=2, first_ordinal=6, last_ordinal=6)
    trace.chunk(*line, *line, seq=3, first_ordinal=9, last_ordinal=10, lost_before=2, lost_reasons=2)
    events = built(trace.close())[1, 1]
    assert brief(events) == [
        (1, "GAP", 1), (2, "GAP", 3), (5, "LINE", 5), (6, "LINE", 5), (7, "GAP", 2), (9, "LINE", 5), (10, "LINE", 5),
        (11, "GAP", 37), (48, "GAP", 3),
    ]
    whys = [event["why"] for event in events if event["event"] == "GAP"]
    assert whys == ["damaged", "full,no-ring", "stalled", "damaged", "reader"]


def test_a_thread_that_lost_all(built):
    trace = start(("thread_end", {"thread": 3, "last_ordinal": 7, "lost": 7, "lost_reasons": 4}))
    assert brief(built(trace.close())[1, 3]) == [(1, "GAP", 7)]


def test_the_sealed_chunk_replaces_open_ones_and_of_those_the_last_counts(built):
    trace = start()
    one, two, three = [(("CODE", 1), *[("LINE", line)] * line) for line in (1, 2, 3)]
    trace.chunk(*three, seq=1, first_ordinal=1, last_ordinal=3)
    trace.chunk(*one, seq=1, first_ordinal=1, flags=PROVISIONAL)
    trace.chunk(*one, seq=2, first_ordinal=4, flags=PROVISIONAL)
    trace.chunk(*two, seq=2, first_ordinal=4, flags=PROVISIONAL)
    assert brief(built(trace.close())[1, 1]) == [
        (1, "LINE", 3), (2, "LINE", 3), (3, "LINE", 3), (4, "LINE", 2), (5, "LINE", 2),
    ]


def test_events_that_an_earlier_chunk_has_are_passed_over(built):
    trace = start()
    trace.chunk(("CODE", 1), ("LINE", 1), ("LINE", 2), first_ordinal=1)
    trace.chunk(("CODE", 1), ("BITS", 0b101), ("LINE", 3), ring=2, first_ordinal=2, branches=0b10)
    assert [(e["n"], e.get("line", e.get("taken"))) for e in built(trace.close())[1, 1]] == [
        (1, 1), (2, 2), (3, True), (4, 3), (5, False),
    ]


def test_ids_are_inherited_up_to_the_fork(built):
    trace = start()
    at = trace.ends[1]
    trace.meta(1, *definitions(10, 12, "a.py"))
    trace.meta(2, *process(2, *definitions(10, 10, "b.py"), parent=1, at=at))
    trace.meta(2, ("content", {"id": 9, "file": "not of code 9.py"}))
    grandchild_at = trace.ends[2]
    trace.meta(2, *definitions(11, 11, "b.py"))
    trace.meta(3, *process(3, *definitions(11, 11, "c.py"), parent=2, at=grandchild_at))
    events = [r for id in (9, 10, 11, 12) for r in (("CODE", id), ("RAISE", 1, id), ("MARK", id))]
    for number in 1, 2, 3:
        trace.chunk(*events, process=number, first_ordinal=1)
    files = {number: [e["file"] for e in stream if "file" in e] for (number, _), stream in built(trace.close()).items()}
    assert files == {
        1: ["a.py"] * 4,
        2: ["a.py", "b.py", "b.py", None],
        3: ["a.py", "b.py", "c.py", None],
    }


def test_entries_into_coroutines_have_the_task_that_was_told_last_in_their_chunk(built):
    trace = start()
    at = trace.ends[1]
    trace.meta(1, ("task", {"id": 3, "name": "renamed"}))
    trace.meta(2, *process(2, ("task", {"id": 4, "name": "again"}), parent=1, at=at))
    entries = ("PY_START", 1), ("PY_START", 2), ("CODE", 3), ("PY_RESUME", 4), ("PY_THROW", 4, 1), ("LINE_STEP", 0)
    for number in 1, 2:
        ids = [item for id in (3, 4, 10, 0) for item in (("TASK", id), *entries)]
        trace.chunk(*entries, *ids, process=number, first_ordinal=1, last_ordinal=25)
        trace.chunk(*entries, process=number, seq=2, first_ordinal=26, last_ordinal=30)
    events = built(trace.close())
    for number, three, four in (1, "renamed", "task a.py:4"), (2, "task a.py:3", "again"):
        told = [(event.get("task"), event.get("task_name")) for event in events[number, 1]]
        none = [(None, None)] * 5
        assert told == none + [pair for task in ((3, three), (4, four), (10, None), (None, None)) for pair in (
            task, (None, None), task, task, (None, None))] + none


def test_definitions_that_repeat_or_are_missing(built):
    trace = start()
    first_frame = trace.data[len(TraceBuilder().meta(0, RUN, *CLOCKS).data):]
    trace.meta(1, *definitions(10, 10, "b.py"))
    trace.data += first_frame
    trace.ends[1] += 1000
    trace.meta(1, *definitions(20, 20, "late.py"))
    trace.chunk(*[r for id in (9, 10, 20, 15) for r in (("CODE", id), ("LINE", 1))], first_ordinal=1)
    assert [event["file"] for event in built(trace)[1, 1]] == ["a.py", "b.py", "late.py", None]


def test_a_line_is_not_known_where_its_code_is_not(built):
    trace = start()
    trace.chunk(("CODE", 0), ("LINE_STEP", 3), ("LINE", 7), ("LINE_STEP", 1), first_ordinal=1)
    assert brief(built(trace.close())[1, 1]) == [(1, "LINE", None), (2, "LINE", 7), (3, "LINE", 8)]


@pytest.mark.parametrize("bad", ["00", "03", "0101000000", "02030000", "020300000000", "25ff"])
def test_what_is_no_record_ends_a_chunk(bad, built):
    trace = start()
    trace.chunk(("CODE", 1), ("LINE", 1), bytes.fromhex(bad), first_ordinal=1, last_ordinal=5, branches=6)
    trace.chunk(("CODE", 1), ("LINE", 2), seq=2, first_ordinal=6, last_ordinal=6)
    assert brief(built(trace.close())[1, 1]) == [(1, "LINE", 1), (2, "GAP", 4), (6, "LINE", 2)]


def test_an_index_of_several_frames(built, compare, tmp_path):
    trace = start()
    for seq in range(1, 8):
        trace.chunk(("CODE", 1), ("LINE", seq), seq=seq, first_ordinal=seq, last_ordinal=seq)
    events = built(trace.close(per_index=2))
    assert brief(events[1, 1]) == [(n, "LINE", n) for n in range(1, 8)]
    check_frames(compare(tmp_path / "built.kymo"))


def any_number(rng):
    bound = 1 << rng.choice([8, 16, 32])
    return rng.choice([rng.getrandbits(rng.randint(1, 32)), bound - rng.randint(0, 1)]) % (1 << 32)


def any_record(rng):
    name = rng.choice([*KINDS[1:], "LINE", "LINE_STEP", "INSTRUCTION_STEP", "BITS", "MARK", "INTERPRETER", "TASK"])
    if name in ("CODE", "PY_START", "MARK", "TASK"):
        return name, rng.randint(0, 11)
    if name == "LINE":
        return name, rng.choice([rng.randint(64, 1000), rng.getrandbits(31) | 64])
    if name == "LINE_STEP":
        return name, rng.randint(0, 63)
    if name == "INSTRUCTION_STEP":
        return name, rng.randint(0, 23)
    if name == "BITS":
        return name, rng.getrandbits(32) | 2
    if name in EXCEPTIONS or name in CALLS:
        return name, rng.randint(0, 300), rng.randint(0, 11)
    if name in JUMPS:
        return name, any_number(rng), any_number(rng)
    return name, any_number(rng) % 1000 if name in ("TIME", "SWITCH") else any_number(rng)


def count(records):
    """Events in encoded @records."""
    silent = "CODE", "TIME", "SWITCH", "INTERPRETER", "TASK"
    return sum(fields[0].bit_length() - 1 if name == "BITS" else name not in silent for name, *fields in records)


@pytest.mark.parametrize("seed", range(8))
def test_any_records(seed, built):
    rng = random.Random(seed)
    trace = start()
    for thread in range(1, 9):
        n, clock = 1, rng.randint(0, 500)
        for seq in range(1, rng.randint(2, 6)):
            records = [any_record(rng) for _ in range(rng.randint(0, 60))]
            branches = rng.choice([1, rng.getrandbits(32) | 1])
            lost_before = rng.choice([0, rng.randint(0, 9)])
            n += rng.choice([lost_before, lost_before + rng.randint(0, 3)])
            last = n + count(records) + branches.bit_length() - 2
            end = clock + sum(fields[0] for name, *fields in records if name == "TIME") + rng.randint(0, 99)
            trace.chunk(
                *records,
                sync=make_sync_block(*((rng.randint(0, 11), rng.randint(0, 300)) for _ in range(rng.randint(0, 128)))),
                thread=thread, ring=thread, seq=seq, first_ordinal=n, last_ordinal=rng.choice([0, last]),
                lost_before=lost_before, lost_reasons=rng.getrandbits(7), branches=branches,
                open_clock=clock, close_clock=end, switch_base=rng.randint(0, 9), interpreter=rng.randint(0, 2),
            )
            n, clock = last + 1, end + rng.randint(0, 50)
    built(trace.close())
