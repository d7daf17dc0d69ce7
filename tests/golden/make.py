# SPDX-License-Identifier: Apache-2.0
"""Make the traces of tests/golden that nobody recorded: the example of docs/format.md, one with every kind
of gap, and damaged ones.  This was run once; golden files are not made again, they are added to.

    PYTHONPATH=tests/model python tests/golden/make.py
"""
from pathlib import Path

from trace_builder import TraceBuilder, sync_block

HERE = Path(__file__).parent
PROVISIONAL, SNAPSHOT = 2, 4

FOLDER = "4711-86400-0a1b2c3d"
SECOND = 10**9
START = 1_700_000_000 * SECOND  # Unix time; the counter is the monotonic clock, 5 s later than its zero

EVENTS = 1 << 2 | 1 << 5 | 1 << 7  # PY_START, PY_RETURN, LINE

MODULE = {
    "id": 1,
    "file": "double.py",
    "name": "<module>",
    "qualname": "<module>",
    "first_line": 1,
    "bytecode": bytes.fromhex("950053001a0072005c0022005301350100000000000020006702"),
    "line_table": bytes.fromhex("f003010101f202010111f1060001078072850a"),
    "names": ["double"],
}
DOUBLE = {
    "id": 2,
    "file": "double.py",
    "name": "double",
    "qualname": "double",
    "first_line": 1,
    "flags": 3,
    "bytecode": bytes.fromhex("9500550053012d0500002400"),
    "line_table": bytes.fromhex("8000d80b0c88718935804c"),
    "varnames": ["x"],
    "argcount": 1,
}



def definitions(trace, policy, *more):
    config = {"events": EVENTS, "profile": "PY_START,LINE,PY_RETURN", "policy": policy, "clock_mode": 1}
    session = {"config": config, "kymo_version": "0.1.0", "argv": ["double.py"], "started_unix_ns": START, "counter": 1}
    trace.meta(
        0,
        ("session", session),
        ("clock", {"counter": 5 * SECOND, "monotonic_ns": 5 * SECOND, "unix_ns": START}),
        ("process_seen", {"process": 1, "folder": FOLDER, "seen_unix_ns": START + 1000000}),
    )
    return trace.meta(
        1,
        ("process", {"pid": 4711, "folder": FOLDER, "executable": "python3.13", "argv": ["double.py"]}),
        ("thread", {"thread": 1, "native_id": 4711, "name": "MainThread"}),
        ("content", MODULE),
        ("code", {"id": 1, "content": 1}),
        ("content", DOUBLE),
        ("code", {"id": 2, "content": 2}),
        *more,
    )


def example():
    trace = TraceBuilder(created_unix_ns=START, session_id=b"an example of it")
    definitions(trace, 1)
    trace.chunk(
        ("SWITCH", 1),
        ("PY_START", 2),
        ("LINE_STEP", 1),
        ("TIME", 1000),
        ("PY_RETURN", 5),
        sync=sync_block((1, 7)),
        first_ordinal=1,
        last_ordinal=3,
        open_clock=5 * SECOND + 2000000,
        close_clock=5 * SECOND + 2003000,
        meta_position=trace.ends[1],
    )
    trace.meta(
        0,
        ("process_end", {"process": 1, "how": 1, "threads": [{"thread": 1, "last_ordinal": 3}]}),
        ("ending", {"reason": "complete", "unix_ns": START + 3000000}),
    )
    return trace.close().data


def gaps(policy):
    """Chunks of two events, some lost, some missing, some there twice; at the end more was lost."""
    threads = [("thread", {"thread": n, "native_id": 5000 + n}) for n in (2, 3)]
    end = {"thread": 1, "last_ordinal": 1000, "lost": 10, "lost_reasons": 1 << 6}
    trace = TraceBuilder(created_unix_ns=START)
    definitions(trace, policy, *threads, ("thread_end", end))

    def chunk(n, seq, first, flags=0, thread=1, records=(("PY_START", 2), ("LINE_STEP", 1)), **fields):
        clock = 5 * SECOND + n * 1000000
        last = 0 if flags & PROVISIONAL else first + len(records) - 1
        trace.chunk(
            *records, seq=seq, thread=thread, ring=thread, flags=flags, first_ordinal=first, last_ordinal=last,
            open_clock=clock, close_clock=clock + 500000, **fields,
        )

    chunk(1, 1, 1)
    chunk(2, 2, 13, lost_before=10, lost_reasons=1 << 0)
    chunk(3, 3, 20, lost_before=2, lost_reasons=1 << 1 | 1 << 2)
    chunk(4, 9, 40, flags=PROVISIONAL | SNAPSHOT, records=[("PY_START", 2)])
    chunk(4, 9, 40, flags=SNAPSHOT)
    chunk(4, 9, 40, flags=SNAPSHOT)
    chunk(5, 10, 42, flags=PROVISIONAL, records=[("PY_START", 2)], branches=0b1101)
    chunk(6, 1, 5, thread=2, lost_before=4, lost_reasons=1 << 5)
    lost = {"thread": 3, "last_ordinal": 77, "lost": 77, "lost_reasons": 1 << 2}
    trace.meta(0, ("process_end", {"process": 1, "how": 2, "status": 9, "threads": [lost]}))
    return trace.close(per_index=3).data


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


sound = example()
chunk, records, index = 0x2BA, 0x33E, 0x3EE
traces = {
    "v1/example": sound,
    "v1/gaps": gaps(2),
    "v1/overwritten": gaps(3),
    "golden-errors/empty": b"",
    "golden-errors/not-a-trace": b"PK\3\4" + bytes(200),
    "golden-errors/version-2": TraceBuilder(version=2).close().data,
    "golden-errors/required-feature": TraceBuilder(required_features=1 << 5).close().data,
    "golden-errors/flipped-file-header": flip(sound, 40),
    "golden-errors/flipped-frame-header": flip(sound, chunk + 3),
    "golden-errors/flipped-chunk": flip(sound, records),
    "golden-errors/flipped-index": flip(sound, index + 200),
    "golden-errors/truncated-file-header": sound[:63],
    "golden-errors/truncated-chunk": sound[:records],
    "golden-errors/truncated-trailer": sound[:-1],
}
for name, data in traces.items():
    path = HERE / f"{name}.kymo"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
