# SPDX-License-Identifier: Apache-2.0
"""Make the trace of docs/format.md, section 9.  It was made once; a changed format gets another example.

    PYTHONPATH=tests/model python tests/golden/make_example.py example.kymo
"""
import sys
from pathlib import Path

from trace_builder import TraceBuilder, sync_block

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

trace = TraceBuilder(created_unix_ns=START, session_id=b"an example of it")
config = {"events": EVENTS, "profile": "PY_START,LINE,PY_RETURN", "policy": 1, "clock_mode": 1}
session = {"config": config, "kymo_version": "0.1.0", "argv": ["double.py"], "started_unix_ns": START, "counter": 1}
trace.meta(
    0,
    ("session", session),
    ("clock", {"counter": 5 * SECOND, "monotonic_ns": 5 * SECOND, "unix_ns": START}),
    ("process_seen", {"process": 1, "folder": FOLDER, "seen_unix_ns": START + 1000000}),
)
trace.meta(
    1,
    ("process", {"pid": 4711, "folder": FOLDER, "executable": "python3.13", "argv": ["double.py"]}),
    ("thread", {"thread": 1, "native_id": 4711, "name": "MainThread"}),
    ("content", MODULE),
    ("code", {"id": 1, "content": 1}),
    ("content", DOUBLE),
    ("code", {"id": 2, "content": 2}),
)
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
trace.close()
Path(sys.argv[1]).write_bytes(trace.data)
