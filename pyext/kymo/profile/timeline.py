# SPDX-License-Identifier: Apache-2.0
"""Calls of threads over time, up to a number of boxes; replay/library/timeline_slices.h says what each field holds."""

import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import NamedTuple

from kymo._library import as_bytes, failure, load
from kymo.profile import _tree
from kymo.profile._tree import Function, Slice, Thread

MERGED, CUT, RESUMED = 1, 2, 4
_BOX = "@qqQQQIIIIq"
_GAP = "@qQQPI4x"
_TASK = "@PII"
_RUN = "@qqQQQIII4x"


class Box(NamedTuple):
    """A call, or several that are shorter than Timeline.merged_ns: then `function` is that of one of the longest."""

    function: Function
    thread: Thread
    depth: int
    begin_ns: int
    begin_err_ns: int
    end_ns: int
    end_err_ns: int
    calls: int
    flags: int


class Gap(NamedTuple):
    """A place where `lost` events of a thread are missing."""

    thread: Thread
    t_ns: int
    t_err_ns: int
    lost: int
    reasons: str


@dataclass(slots=True, eq=False)
class Task:
    """An asyncio task on a thread."""

    thread: Thread
    name: str


class Run(NamedTuple):
    """A task ran, `times` times with pauses too short to be shown; `function` is that of its outermost frame."""

    function: Function
    task: Task
    begin_ns: int
    begin_err_ns: int
    end_ns: int
    end_err_ns: int
    times: int
    flags: int


@dataclass(slots=True, eq=False)
class Timeline:
    threads: list[Thread]
    boxes: list[Box]
    gaps: list[Gap]
    calls: int
    gaps_left_out: int
    begin_ns: int
    end_ns: int
    merged_ns: int
    tasks: list[Task]
    runs: list[Run]
    runs_left_out: int
    runs_merged_ns: int


class _Timeline(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        *((name, c_uint64) for name in ("function_count", "thread_count", "box_count", "gap_count")),
        *((name, c_void_p) for name in ("functions", "threads", "boxes", "gaps")),
        ("calls", c_uint64), ("gaps_left_out", c_uint64), ("begin_ns", c_int64), ("end_ns", c_int64),
        ("merged_ns", c_int64), ("task_count", c_uint64), ("run_count", c_uint64), ("tasks", c_void_p),
        ("runs", c_void_p), ("runs_left_out", c_uint64), ("runs_merged_ns", c_int64),
    ]  # fmt: skip


_library = None


def _load():
    library = load()
    read = library.kymo_profile_timeline_read
    read.restype = c_int
    read.argtypes = c_char_p, POINTER(_tree._Slice), c_uint64, POINTER(POINTER(_Timeline)), c_char_p, c_size_t
    library.kymo_profile_timeline_free.restype = None
    library.kymo_profile_timeline_free.argtypes = (POINTER(_Timeline),)
    return library


def read(path: str | os.PathLike[str], wanted: Slice = Slice(), most: int = 30_000) -> Timeline:
    """What is `wanted` of the trace at `path`, in at most this many boxes; raises kymo.Error if it is not a trace."""
    global _library
    _library = _library or _load()
    found, message = POINTER(_Timeline)(), ctypes.create_string_buffer(512)
    result = _library.kymo_profile_timeline_read(
        as_bytes(path), byref(_tree._raw_slice(wanted)), most, byref(found), message, len(message)
    )
    if result:
        raise failure(result, message.value, path)
    try:
        return _convert(found.contents)
    finally:
        _library.kymo_profile_timeline_free(found)


def _convert(found):
    functions = [
        Function(_tree._name(file), _tree._name(name), line, bool(is_c))
        for file, name, line, is_c, *_ in _tree._rows(_tree._FUNCTION, found.functions, found.function_count)
    ]
    threads = [
        Thread(process, number, pid, native_id or None, _tree._name(name), *rest)
        for pid, native_id, name, process, number, *rest in _tree._rows(
            _tree._THREAD, found.threads, found.thread_count
        )
    ]
    boxes = [
        Box(functions[function], threads[thread], depth, begin, begin_err, end, end_err, calls, flags)
        for begin, end, begin_err, end_err, calls, function, thread, depth, flags, _ in _tree._rows(
            _BOX, found.boxes, found.box_count
        )
    ]
    gaps = [
        Gap(threads[thread], t_ns, t_err_ns, lost, _tree._name(reasons))
        for t_ns, t_err_ns, lost, reasons, thread in _tree._rows(_GAP, found.gaps, found.gap_count)
    ]
    tasks = [
        Task(threads[thread], _tree._name(name) or f"task {id}")
        for name, id, thread in _tree._rows(_TASK, found.tasks, found.task_count)
    ]
    runs = [
        Run(functions[function], tasks[task], begin, begin_err, end, end_err, times, flags)
        for begin, end, begin_err, end_err, times, function, task, flags in _tree._rows(
            _RUN, found.runs, found.run_count
        )
    ]
    return Timeline(
        threads, boxes, gaps, found.calls, found.gaps_left_out, found.begin_ns, found.end_ns, found.merged_ns,
        tasks, runs, found.runs_left_out, found.runs_merged_ns,
    )  # fmt: skip
