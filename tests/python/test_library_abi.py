# SPDX-License-Identifier: Apache-2.0
"""The binary interface of libkymo-replay: docs/decisions/0014-library-abi.md, held against the compiler and the linker."""

import ctypes
import os
import re
import struct
import subprocess
from ctypes import byref, c_void_p
from pathlib import Path

import kymo
import pytest
from kymo import _history, arrow
from kymo.coverage import counts
from kymo.profile import _tree, timeline

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("KYMO_BUILD_DIR", "build/dev")
LIBRARY = ROOT / "replay" / "library"
PUBLIC = ["arrow.h", "coverage.h", "history.h", "profile.h", "project.h", "timeline_slices.h"]
STRUCTURES = {
    "kymo_history_event": _history._Event,
    "kymo_history_slice": _history._Slice,
    "kymo_history_frame": _history._Frame,
    "kymo_profile_slice": _tree._Slice,
    "kymo_profile": _tree._Profile,
    "kymo_profile_timeline": timeline._Timeline,
    "kymo_coverage": counts._Coverage,
    "kymo_arrow_slice": arrow._Slice,
}
ROWS = {
    "kymo_coverage_file": counts._FILE,
    "kymo_coverage_line": counts._LINE,
    "kymo_coverage_branch": counts._BRANCH,
    "kymo_coverage_function": counts._FUNCTION,
    "kymo_coverage_set": counts._SET,
    "kymo_profile_function": _tree._FUNCTION,
    "kymo_profile_thread": _tree._THREAD,
}


def test_what_is_exported_is_what_the_headers_declare():
    declared = set()
    for header in PUBLIC:
        declared |= set(re.findall(r"\bKYMO_\w+_API\b[^;(]*?(kymo_\w+)\(", (LIBRARY / header).read_text()))
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", BUILD / "python" / "kymo" / "libkymo-replay.so"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert declared and {line.split()[-1] for line in listing.splitlines()} == declared


def test_the_soname_has_the_version_of_the_interface():
    dynamic = subprocess.run(
        ["readelf", "-d", BUILD / "python" / "kymo" / "libkymo-replay.so"], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"SONAME.*\[libkymo-replay\.so\.0\]", dynamic)


def compiled(tmp_path, lines):
    """What a C program prints that has the public headers."""
    includes = "".join(f'#include "replay/library/{header}"\n' for header in PUBLIC)
    (tmp_path / "layout.c").write_text(
        f"#include <stddef.h>\n#include <stdio.h>\n{includes}int main(void)\n{{\n{lines}\treturn 0;\n}}\n"
    )
    subprocess.run(["cc", "-I", ROOT, "-o", tmp_path / "layout", tmp_path / "layout.c"], check=True)
    return subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout.split()


def test_python_has_the_compilers_layout(tmp_path):
    lines, expected = "", []
    for name, structure in STRUCTURES.items():
        lines += f'\tprintf("%zu\\n", sizeof(struct {name}));\n'
        expected.append(ctypes.sizeof(structure))
        for field, *_ in structure._fields_:
            lines += f'\tprintf("%zu\\n", offsetof(struct {name}, {field}));\n'
            expected.append(getattr(structure, field).offset)
    for name, layout in ROWS.items():
        lines += f'\tprintf("%zu\\n", sizeof(struct {name}));\n'
        expected.append(struct.calcsize(layout))
    assert list(map(int, compiled(tmp_path, lines))) == expected


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("abi") / "t.kymo"
    kymo_program = BUILD / "bin" / "kymo"
    subprocess.run([kymo_program, "record", "-o", path, "--", os.sys.executable, "-c", "x = 1\ny = 2"], check=True)
    with kymo.open(path) as opened:
        yield opened


def open_events(trace, wanted):
    handle = c_void_p()
    trace._check(_history._library.kymo_history_events_open(trace._live, byref(wanted), byref(handle)))
    return handle


def read_kinds(trace, wanted, size, count=1000):
    """The kinds of events that a caller gets whose struct kymo_history_event has `size` bytes."""
    memory = ctypes.create_string_buffer(b"\xff" * (size * count + 1), size * count + 1)
    ctypes.c_size_t.from_buffer(memory).value = size
    events = open_events(trace, wanted)
    try:
        found = trace._check(_history._library.kymo_history_events_read(
            events, ctypes.cast(memory, ctypes.POINTER(_history._Event)), count))  # fmt: skip
    finally:
        _history._library.kymo_history_events_close(events)
    assert memory.raw[found * size :] == b"\xff" * (len(memory) - found * size)
    at = _history._Event.kind.offset
    return [
        ctypes.string_at(struct.unpack_from("P", memory, number * size + at)[0]).decode() for number in range(found)
    ]


def everything(size=ctypes.sizeof(_history._Slice)):
    wanted = _history._slice(None, 2, None, None, None, None)
    wanted.size = size
    return wanted


def test_callers_of_other_versions(trace):
    """One that knows fewer fields, one that knows this many, and one that knows more."""
    now = ctypes.sizeof(_history._Event)
    kinds = [event.event for event in trace.events()][:1000]
    assert kinds
    for size in (_history._Event.file.offset, now, now + 24):
        assert read_kinds(trace, everything(), size) == kinds
    assert read_kinds(trace, everything(_history._Slice.files.offset), now) == kinds


class _Newer(_history._Slice):
    _fields_ = [("added", ctypes.c_uint64)]


@pytest.mark.parametrize("added, code", [(0, None), (1, "E2BIG")])
def test_a_field_that_is_not_known_must_be_zero(trace, added, code):
    newer = _Newer.from_buffer_copy(bytes(everything()) + struct.pack("Q", added))
    newer.size = ctypes.sizeof(newer)
    if code:
        with pytest.raises(kymo.Error, match="does not know"):
            open_events(trace, newer)
    else:
        _history._library.kymo_history_events_close(open_events(trace, newer))


def test_a_size_that_was_not_set_is_refused(trace):
    with pytest.raises(kymo.Error, match="size"):
        open_events(trace, everything(size=0))
    cursor, event = trace.cursor(), _history._Event()
    event.size = 0
    with pytest.raises(kymo.Error, match="size"):
        trace._check(_history._library.kymo_history_cursor_event(cursor._live, byref(event)))
