# SPDX-License-Identifier: Apache-2.0
"""Calls and times of a trace, by libkymo-replay; replay/library/profile.h says what each field holds."""

import ctypes
import os
import struct
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import NamedTuple

from kymo._library import Sized, as_bytes, as_text, failure, load

_LINES = 1
_CUT, _MORE = 1, 2
_FUNCTION = "@PPIIQQQqQqQ"
_THREAD = "@QQPIIqqQq"
_NODE = "@IIIIQQqQqQI4x"
_LINE = "@IIQqQ"
_NONE = 0xFFFFFFFF


class Slice(NamedTuple):
    """Which part of a trace is read; None: all.  Like the options of `kymo export`; times are nanoseconds."""

    from_ns: int | None = None
    to_ns: int | None = None
    process: int | None = None
    thread: str | None = None
    test: str | None = None
    function: str | None = None
    min_duration_ns: int = 0


class Function(NamedTuple):
    """A function.  `name` is qualified.  Unknown fields are None; a function in C has no file, and line 0."""

    file: str | None
    name: str | None
    line: int
    is_c: bool = False


class FunctionTimes(NamedTuple):
    """A function, wherever it was called from.

    `outermost`: of calls and resumes, those that began while no other of it ran.  `total_ns`: while one of them ran,
    however deep recursion went.  Errors are less than the sums of those of nodes.
    """

    function: Function
    calls: int
    resumes: int
    outermost: int
    self_ns: int
    self_err_ns: int
    total_ns: int
    total_err_ns: int


@dataclass(slots=True, eq=False)
class Thread:
    """A thread of the trace.  `outside_ns`: its time outside of all calls that were read."""

    process: int
    number: int
    pid: int
    native_id: int | None
    name: str | None
    begin_ns: int
    end_ns: int
    lost: int
    outside_ns: int


@dataclass(slots=True, eq=False)
class Node:
    """A function as called by its parent.  Each time may be wrong by its `…_err_ns`, to both sides.

    `calls` were seen to begin; `resumes` of generators and coroutines are no calls.  `total_ns` has all that it called.
    `is_cut`: some of the calls were not seen to begin or to end.  `is_more`: not a function, but all that was called here
    when there was no more room for nodes.
    """

    function: Function
    thread: Thread
    parent: "Node | None"
    call_line: int | None  # of the parent; None if lines were not asked for, or not known
    calls: int
    resumes: int
    self_ns: int
    self_err_ns: int
    total_ns: int
    total_err_ns: int
    is_cut: bool
    is_more: bool
    children: list["Node"] = field(default_factory=list)

    def path(self) -> list["Node"]:
        """From the outermost caller to this."""
        nodes = [self]
        while (parent := nodes[-1].parent) is not None:
            nodes.append(parent)
        return nodes[::-1]


class Line(NamedTuple):
    """The time that a line of a function took, in all threads."""

    function: Function
    line: int
    hits: int
    self_ns: int
    self_err_ns: int


@dataclass(slots=True, eq=False)
class Profile:
    """The whole profile.  In `nodes`, parents come before their children; `lines` are empty unless asked for."""

    functions: list[Function]
    times: list[FunctionTimes]  # of each of them
    threads: list[Thread]
    nodes: list[Node]
    lines: list[Line]
    events: int
    lost: int
    begin_ns: int
    end_ns: int
    started_unix_ns: int | None

    @property
    def roots(self) -> Iterator[Node]:
        return (node for node in self.nodes if node.parent is None)


class _Slice(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("from_ns", c_int64), ("to_ns", c_int64), ("process", c_int64), ("min_duration_ns", c_int64),
        ("thread", c_char_p), ("function", c_char_p), ("test", c_char_p), ("flags", c_uint64),
    ]  # fmt: skip


class _Profile(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        *((name, c_uint64) for name in ("function_count", "thread_count", "node_count", "line_count")),
        *((name, c_void_p) for name in ("functions", "threads", "nodes", "lines")),
        ("events", c_uint64), ("lost", c_uint64), ("begin_ns", c_int64), ("end_ns", c_int64),
        ("started_unix_ns", c_int64),
    ]  # fmt: skip


_library = None


def _load():
    library = load()
    library.kymo_profile_read.restype = c_int
    library.kymo_profile_read.argtypes = c_char_p, POINTER(_Slice), POINTER(POINTER(_Profile)), c_char_p, c_size_t
    library.kymo_profile_free.restype = None
    library.kymo_profile_free.argtypes = (POINTER(_Profile),)
    return library


def _rows(layout, address, count):
    return struct.iter_unpack(layout, ctypes.string_at(address, count * struct.calcsize(layout)) if count else b"")


def _name(address):
    return as_text(ctypes.string_at(address)) if address else None


def _raw_slice(wanted, flags=0):
    return _Slice(
        -(1 << 63) if wanted.from_ns is None else wanted.from_ns,
        (1 << 63) - 1 if wanted.to_ns is None else wanted.to_ns,
        wanted.process or 0,
        wanted.min_duration_ns,
        *(None if text is None else as_bytes(text) for text in (wanted.thread, wanted.function, wanted.test)),
        flags,
    )


def read(path: str | os.PathLike[str], wanted: Slice = Slice(), *, lines: bool = False) -> Profile:
    """The profile of what is `wanted` of the trace at `path`, which may still be written.

    With `lines`, of lines and by calling lines, too; that takes longer.  Raises kymo.Error if it is not a trace.
    """
    global _library
    _library = _library or _load()
    raw = _raw_slice(wanted, _LINES if lines else 0)
    found, message = POINTER(_Profile)(), ctypes.create_string_buffer(512)
    result = _library.kymo_profile_read(as_bytes(path), byref(raw), byref(found), message, len(message))
    if result:
        raise failure(result, message.value, path)
    try:
        return _convert(found.contents)
    finally:
        _library.kymo_profile_free(found)


def _convert(found):
    times = [
        FunctionTimes(Function(_name(file), _name(name), line, bool(is_c)), *numbers)
        for file, name, line, is_c, *numbers in _rows(_FUNCTION, found.functions, found.function_count)
    ]
    functions = [each.function for each in times]
    threads = [
        Thread(process, number, pid, native_id or None, _name(name), begin_ns, end_ns, lost, outside_ns)
        for pid, native_id, name, process, number, begin_ns, end_ns, lost, outside_ns in _rows(
            _THREAD, found.threads, found.thread_count
        )
    ]
    nodes = []
    for parent, function, thread, call_line, *numbers, flags in _rows(_NODE, found.nodes, found.node_count):
        above = None if parent == _NONE else nodes[parent]
        node = Node(
            functions[function], threads[thread], above, call_line or None, *numbers,
            bool(flags & _CUT), bool(flags & _MORE),
        )  # fmt: skip
        nodes.append(node)
        if above is not None:
            above.children.append(node)
    lines = [Line(functions[function], *rest) for function, *rest in _rows(_LINE, found.lines, found.line_count)]
    return Profile(
        functions, times, threads, nodes, lines, found.events, found.lost, found.begin_ns, found.end_ns,
        found.started_unix_ns or None,
    )  # fmt: skip
