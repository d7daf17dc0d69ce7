# SPDX-License-Identifier: Apache-2.0
"""Traces as Python objects, by libkymo-replay; replay/library/history.h says what each call promises."""

import ctypes
import json
import operator
import os
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import NamedTuple

from kymo._library import Error as Error
from kymo._library import Sized, Unique, as_bytes, as_number, as_text, failure, load
from kymo._values import Value

BATCH = 256
INTO, OVER, OUT, CONTINUE, SWITCH, EVENT = 1, 2, 3, 4, 5, 0
STOPS = {1: "moved", 2: "break", 3: "missing", 4: "end"}
LINE, FUNCTION, EXCEPTION = 0, 1, 2
VALUES = {"all": 0, "brief": 1, "none": 2}


class Event(NamedTuple):
    """An event, with the fields of `kymo events --jsonl`.  Times are nanoseconds, offsets bytes of bytecode."""

    n: int
    k: int
    thread: int
    event: str
    file: str | None
    function: str | None
    name: str | None
    line: int | None
    offset: int | None
    dest: int | None
    t_ns: int
    t_err_ns: int
    lost: int
    lost_reasons: int
    interpreter: int
    turn: int
    task: int | None
    task_name: str | None
    values_json: str | None
    first_line: int | None = None  # of UNKNOWN after a thread's last event: what may have run lies between these lines
    last_line: int | None = None

    @property
    def values(self):
        """The values of variables recorded here, by name: kymo.Value.  Other variables have not changed, or were not recorded."""
        return {name: Value(told) for name, told in (self._told.get("values") or {}).items()}

    @property
    def value(self):
        """What is returned, yielded or raised here: a kymo.Value, or None if it was not recorded."""
        return Value(self._told["value"]) if "value" in self._told else None

    @property
    def _told(self):
        return json.loads(self.values_json) if self.values_json else {}


class PastValue(NamedTuple):
    """A value that a variable had from event `n` on: the event of `line`, which was about to run, or of the return."""

    n: int
    t_ns: int
    line: int | None
    value: Value | None  # None: it no longer had one


class Frame(NamedTuple):
    """A frame of a stack."""

    file: str | None
    function: str | None
    line: int | None


class _Event(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("n", c_uint64), ("k", c_uint32), ("thread", c_uint32), ("kind", c_char_p), ("file", c_char_p),
        ("function", c_char_p), ("name", c_char_p), ("line", c_int64), ("offset", c_int64), ("dest", c_int64),
        ("t_ns", c_int64), ("t_err_ns", c_uint64), ("lost", c_uint64), ("lost_reasons", c_uint32),
        ("interpreter", c_uint32), ("turn", c_uint64), ("task", c_uint64), ("task_name", c_char_p),
        ("values", c_char_p), ("first_line", c_int64), ("last_line", c_int64),
    ]  # fmt: skip


class _Slice(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("from_ns", c_int64), ("to_ns", c_int64), ("thread", c_int32), ("values", c_uint32), ("kinds", c_char_p),
        ("files", POINTER(c_char_p)),
    ]  # fmt: skip


class _Frame(Sized):
    _fields_ = [("size", c_size_t), ("file", c_char_p), ("function", c_char_p), ("line", c_int64)]


def _load():
    library = load()
    for name, result, *arguments in (
        ("open", c_int, c_char_p, POINTER(c_void_p), c_char_p, c_size_t),
        ("close", None, c_void_p),
        ("error", c_char_p, c_void_p),
        ("describe", c_void_p, c_void_p),
        ("free", None, c_void_p),
        ("events_open", c_int, c_void_p, POINTER(_Slice), POINTER(c_void_p)),
        ("events_read", c_int, c_void_p, POINTER(_Event), c_int),
        ("events_close", None, c_void_p),
        ("last_values", c_int, c_void_p, POINTER(_Slice), c_char_p, c_uint64, POINTER(c_void_p)),
        ("source", c_int, c_void_p, c_uint32, c_char_p, POINTER(c_void_p), POINTER(c_size_t)),
        ("cursor_open", c_int, c_void_p, POINTER(c_void_p)),
        ("cursor_close", None, c_void_p),
        ("cursor_move", c_int, c_void_p, c_int, c_int),
        ("cursor_seek", c_int, c_void_p, c_uint32, c_uint64, c_uint32),
        ("cursor_goto", c_int, c_void_p, c_char_p),
        ("cursor_switch", c_int, c_void_p, c_uint32),
        ("cursor_event", c_int, c_void_p, POINTER(_Event)),
        ("cursor_stack", c_int, c_void_p, POINTER(_Frame), c_int),
        ("cursor_variables", c_int, c_void_p, c_uint32, POINTER(c_void_p)),
        ("cursor_past_values", c_int, c_void_p, c_uint32, c_char_p, POINTER(c_void_p)),
        ("cursor_break", c_int, c_void_p, c_int, c_char_p, c_int64, c_char_p, POINTER(c_uint64)),
        ("cursor_remove_break", c_int, c_void_p, c_int),
        ("cursor_hit", c_int, c_void_p),
    ):
        function = getattr(library, f"kymo_history_{name}")
        function.restype, function.argtypes = result, arguments
    return library


_library = None


def _check_range(name, number, bits):
    """Reject a number that does not fit: C would take its low bits."""
    if not 0 <= operator.index(number) < 1 << bits:
        raise ValueError(f"{name} is {number}: must be from 0 to {(1 << bits) - 1}")


def _event(raw):
    return Event(
        raw.n, raw.k, raw.thread, as_text(raw.kind), as_text(raw.file), as_text(raw.function), as_text(raw.name),
        as_number(raw.line), as_number(raw.offset), as_number(raw.dest), raw.t_ns, raw.t_err_ns, raw.lost,
        raw.lost_reasons, raw.interpreter, raw.turn, raw.task or None, as_text(raw.task_name),
        as_text(raw.values), as_number(raw.first_line), as_number(raw.last_line),
    )  # fmt: skip


def open(path):
    """Open the trace `path`.  Its index is made if there is none, which takes a while for a long one."""
    return Trace(path)


class Trace(Unique):
    """A recorded run.  Close it, or use it in a `with`; one thread at a time may use it and what comes from it."""

    def __init__(self, path):
        global _library
        self._handle = None
        _library = _library or _load()
        handle, message = c_void_p(), ctypes.create_string_buffer(512)
        result = _library.kymo_history_open(as_bytes(path), byref(handle), message, len(message))
        if result:
            raise failure(result, message.value, path)
        self._handle = handle
        self._path = os.path.abspath(os.fspath(path))
        self._open = weakref.WeakSet()  # its readers, to be closed first
        self._facts = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        self.close()

    def close(self):
        if self._handle:
            for reader in list(self._open):
                reader.close()
            _library.kymo_history_close(self._handle)
        self._handle = None

    @property
    def _live(self):
        if not self._handle:
            raise ValueError("the trace is closed")
        return self._handle

    def _check(self, result):
        if result < 0:
            raise failure(result, _library.kymo_history_error(self._handle))
        return result

    @property
    def facts(self):
        """All that is not an event, as a dict: command, directory, host, config, ending, processes, threads, marks …"""
        handle = self._live
        if self._facts is None:
            memory = _library.kymo_history_describe(handle)
            if not memory:
                raise MemoryError
            self._facts = json.loads(ctypes.string_at(memory))
            _library.kymo_history_free(memory)
        return self._facts

    @property
    def processes(self):
        return self.facts["processes"]

    @property
    def threads(self):
        """The threads of all processes; a thread's index here is its number elsewhere."""
        return self.facts["threads"]

    @property
    def marks(self):
        return self.facts["marks"]

    @property
    def config(self):
        return self.facts["config"]

    @property
    def losses(self):
        """Places where something is missing, as GAP and UNKNOWN events."""
        return list(self.events(kinds=("GAP", "UNKNOWN")))

    def events(self, *, kinds=None, thread=None, start_ns=None, end_ns=None, files=None, values="all"):
        """The events of all threads, or one, in the order in which they happened: an iterator.

        With `files`, only events of code in these files, named as in events, and those without code, such as marks.

        `values`: "brief": types, lengths, numbers, short texts and attributes of what variables hold, which is faster; or "none".
        """
        return Events(self, kinds, thread, start_ns, end_ns, files, values)

    def _last_values(self, threads, kinds, start_ns, end_ns, most):
        """See kymo_history_last_values() in replay/library/history.h; `threads`: by number, true if wanted."""
        wanted, memory = _slice(None, VALUES["none"], kinds, start_ns, end_ns, None), c_void_p()
        self._check(_library.kymo_history_last_values(self._live, byref(wanted), bytes(threads), most, byref(memory)))
        try:
            return json.loads(ctypes.string_at(memory.value))
        finally:
            _library.kymo_history_free(memory)

    def source(self, file, thread=0):
        """(text, verified): the bytes of a file as it was when recorded, and whether they are known to be what ran."""
        memory, size = c_void_p(), c_size_t()
        result = self._check(_library.kymo_history_source(self._live, thread, as_bytes(file), byref(memory), byref(size)))
        text = ctypes.string_at(memory, size.value)
        _library.kymo_history_free(memory)
        return text, bool(result)

    def coverage(self, contexts=False):
        """How often each line and branch of each file ran: a kymo.coverage.model.Counts.

        With contexts, also those in which each ran; Error if the trace does not know them.
        """
        from kymo.coverage.counts import read

        self._live  # noqa: B018
        return read([self._path], contexts=contexts)

    def profile(
        self, *, thread=None, start_ns=None, end_ns=None, test=None, function=None, min_duration_ns=0, lines=False
    ):  # fmt: skip
        """Calls and times of each function, by the calls that led to it: a kymo.profile.Profile.

        `function`: only calls of functions whose qualified name matches this glob, with all that they call.  With `lines`,
        also of lines, and by calling lines.
        """
        from kymo.profile import Slice, read

        self._live  # noqa: B018
        place = (None, None) if thread is None else (self.threads[thread]["pid"], str(self.threads[thread]["number"]))
        return read(self._path, Slice(start_ns, end_ns, *place, test, function, min_duration_ns), lines=lines)

    def arrow(
        self, *, columns=None, kinds=None, thread=None, start_ns=None, end_ns=None, files=None, function=None, test=None
    ):  # fmt: skip
        """The events as a table for readers of Arrow, such as pyarrow, pandas, polars and DuckDB: a kymo.arrow.Table.

        `columns` are the names of the wanted columns.  `function`: only events of functions whose qualified name
        matches this glob; `test`: what ran in this test or other context.  The others are as in events().
        """
        from kymo.arrow import Table

        self._live  # noqa: B018
        return Table(self._path, columns=columns, kinds=kinds, thread=thread, start_ns=start_ns, end_ns=end_ns, files=files,
                     function=function, test=test)  # fmt: skip

    def __arrow_c_stream__(self, requested_schema=None):
        """All events, for readers of Arrow: see arrow()."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def cursor(self, place=None):
        """A cursor, at the end of the run or where it died, or at `place`: see Cursor.goto()."""
        cursor = Cursor(self)
        if place is not None:
            cursor.goto(place)
        return cursor


def _slice(thread, values, kinds, start_ns, end_ns, files):
    return _Slice(
        -(1 << 63) if start_ns is None else start_ns,
        (1 << 63) - 1 if end_ns is None else end_ns,
        -1 if thread is None else thread,
        values,
        None if kinds is None else as_bytes(",".join([kinds] if isinstance(kinds, str) else kinds)),
        None if files is None else (c_char_p * (len(names := [*map(as_bytes, files)]) + 1))(*names),
    )


class Events(Unique):
    """Events of a trace, once, from the first to the last.  It is closed at its end, or when it is garbage-collected."""

    def __init__(self, trace, kinds, thread, start_ns, end_ns, files, values):
        self._trace, self._handle = trace, c_void_p()
        if values not in VALUES:
            raise ValueError(f"values={values!r}: must be one of {', '.join(VALUES)}")
        wanted = _slice(thread, VALUES[values], kinds, start_ns, end_ns, files)
        self._slice = wanted  # the library still reads it
        trace._check(_library.kymo_history_events_open(trace._live, byref(wanted), byref(self._handle)))
        trace._open.add(self)
        self._batch, self._at, self._count = _Event.array(BATCH), 0, 0
        self._is_over = False

    def __iter__(self):
        return self

    def __next__(self):
        if self._handle is None:
            if not self._is_over:
                self._trace._live  # noqa: B018 - if the trace was closed meanwhile, this is not the end
            raise StopIteration
        if self._at == self._count:
            read = _library.kymo_history_events_read(self._handle, self._batch, BATCH)
            self._at, self._count = 0, self._trace._check(read)
        if not self._count:
            self._is_over = True
            self.close()
            raise StopIteration
        self._at += 1
        return _event(self._batch[self._at - 1])

    def __del__(self):
        self.close()

    def close(self):
        if self._handle:
            _library.kymo_history_events_close(self._handle)
        self._handle = None


class Cursor(Unique):
    """A place in a run: just after an event of one thread.

    Moves return why they ended where they did: "moved", "break" (see `hit`), "missing" (something was not recorded, or
    cannot be rebuilt) or "end" (there is no more in this direction).
    """

    def __init__(self, trace):
        self._trace, self._handle = trace, c_void_p()
        trace._check(_library.kymo_history_cursor_open(trace._live, byref(self._handle)))
        trace._open.add(self)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        self.close()

    def close(self):
        if self._handle:
            _library.kymo_history_cursor_close(self._handle)
        self._handle = None

    def _move(self, is_forward, move):
        return STOPS[self._trace._check(_library.kymo_history_cursor_move(self._live, is_forward, move))]

    @property
    def _live(self):
        if not self._handle:
            raise ValueError("the cursor is closed")
        return self._handle

    def next_event(self):
        return self._move(True, EVENT)

    def prev_event(self):
        return self._move(False, EVENT)

    def step_in(self):
        """To the next line of this thread, in whatever frame."""
        return self._move(True, INTO)

    def step_over(self):
        """To the next line of this frame or, when it is left, of its caller."""
        return self._move(True, OVER)

    def step_out(self):
        """To the place where this frame is left."""
        return self._move(True, OUT)

    def resume(self):
        """To the next break in any thread."""
        return self._move(True, CONTINUE)

    def next_switch(self):
        """To the first event after another thread of this process got the GIL."""
        return self._move(True, SWITCH)

    def step_in_back(self):
        return self._move(False, INTO)

    def step_over_back(self):
        return self._move(False, OVER)

    def step_out_back(self):
        """Back to the line that called this frame."""
        return self._move(False, OUT)

    def resume_back(self):
        return self._move(False, CONTINUE)

    def prev_switch(self):
        return self._move(False, SWITCH)

    def seek(self, n, k=0, thread=None):
        """To event `n`, `k` of the thread, or the last one before it."""
        thread = self.event.thread if thread is None else thread
        _check_range("n", n, 64)
        _check_range("k", k, 32)
        _check_range("thread", thread, 32)
        self._trace._check(_library.kymo_history_cursor_seek(self._live, thread, n, k))

    def goto(self, place):
        """To "start" or "end" of the run; "#N" or "N%" of this thread; a time ("1.5s", "20ms"); or the text of a mark."""
        self._trace._check(_library.kymo_history_cursor_goto(self._live, as_bytes(place)))

    def switch(self, thread):
        """To the place where `thread` is at this moment; False if it has not begun."""
        _check_range("thread", thread, 32)
        return bool(self._trace._check(_library.kymo_history_cursor_switch(self._live, thread)))

    @property
    def event(self):
        raw = _Event()
        self._trace._check(_library.kymo_history_cursor_event(self._live, byref(raw)))
        return _event(raw)

    @property
    def stack(self):
        """Frames, the innermost first."""
        count = BATCH
        while True:
            frames = _Frame.array(count)
            found = self._trace._check(_library.kymo_history_cursor_stack(self._live, frames, count))
            if found <= count:
                return [Frame(as_text(at.file), as_text(at.function), as_number(at.line)) for at in frames[:found]]
            count = found

    def _json(self, call, *arguments):
        memory = c_void_p()
        self._trace._check(call(self._live, *arguments, byref(memory)))
        text = ctypes.string_at(memory)
        _library.kymo_history_free(memory)
        return json.loads(text)

    @property
    def variables(self):
        """The values of the innermost frame's variables: see variables_of()."""
        return self.variables_of(0)

    def variables_of(self, frame):
        """The values that the variables of `stack[frame]` held before this event, as far as recorded: kymo.Value by name."""
        told = self._json(_library.kymo_history_cursor_variables, frame)
        return {name: Value(value) for name, value in told.items()}

    def history(self, expression, frame=0):
        """Every value that a variable of `stack[frame]`, or a part of it as `order.items["tea"]`, had in this call: a list
        of PastValue.  Error, if it was not recorded."""
        told = self._json(_library.kymo_history_cursor_past_values, frame, as_bytes(expression))
        return [PastValue(at["n"], at["t_ns"], at["line"], at["value"] and Value(at["value"])) for at in told]

    def _break(self, kind, name, line, condition):
        condition = None if condition is None else as_bytes(condition)
        result = _library.kymo_history_cursor_break(self._live, kind, as_bytes(name), line, condition, None)
        return self._trace._check(result)

    def break_at(self, file, line, condition=None):
        """Stop at this line, which the file must have; returns the number of the break. `condition`: an expression in Python's syntax
        over recorded variables and hits, depth, line, file, function, caller, exception, thread, thread_name, pid, time.
        It does not stop if the condition's value is not known."""
        _check_range("line", line, 31)
        return self._break(LINE, file, line, condition)

    def break_at_function(self, name, condition=None):
        return self._break(FUNCTION, name, -1, condition)

    def break_at_exception(self, type="", condition=None):
        return self._break(EXCEPTION, type, -1, condition)

    def remove_break(self, number):
        self._trace._check(_library.kymo_history_cursor_remove_break(self._live, number))

    @property
    def hit(self):
        """The number of the break at which the last move ended, or None."""
        return _library.kymo_history_cursor_hit(self._live) or None
