# SPDX-License-Identifier: Apache-2.0
"""The events of a trace as a table, for readers of Arrow; replay/library/arrow.h has the contract."""

import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p, pythonapi

from kymo._library import Sized, as_bytes, failure, load

STREAM, SCHEMA = b"arrow_array_stream", b"arrow_schema"


class _Slice(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("from_ns", c_int64), ("to_ns", c_int64), ("process", c_uint64), ("thread", c_int32), ("reserved", c_uint32),
        ("thread_named", c_char_p), ("kinds", c_char_p), ("files", POINTER(c_char_p)), ("function", c_char_p),
        ("test", c_char_p), ("columns", c_char_p),
    ]  # fmt: skip


class _Stream(ctypes.Structure):
    """struct ArrowArrayStream"""

    _fields_ = [(name, c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class _Schema(ctypes.Structure):
    """struct ArrowSchema"""


_Schema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
    ("children", POINTER(POINTER(_Schema))), ("dictionary", POINTER(_Schema)), ("release", c_void_p),
    ("private_data", c_void_p),
]  # fmt: skip

_Destructor = ctypes.PYFUNCTYPE(None, c_void_p)  # called for a dead capsule, so without counting references
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", pythonapi))
_pointer_in = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))
_pointer_in_dying = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", pythonapi))
_Release = ctypes.CFUNCTYPE(None, c_void_p)

_streams = {}  # targets of capsules, by address
_library = None


def _release(capsule, streams=_streams, pointer=_pointer_in_dying, name=STREAM, release=_Release):
    address = pointer(capsule, name)
    stream = streams.pop(address)
    if stream.release:  # it was not moved to a consumer
        release(stream.release)(address)


_destructor = _Destructor(_release)
# Capsules may outlive this module when the interpreter ends.
ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", pythonapi))(_destructor)


def _load():
    library = load()
    library.kymo_arrow_open.restype = c_int
    library.kymo_arrow_open.argtypes = c_char_p, POINTER(_Slice), POINTER(_Stream), c_char_p, c_size_t
    return library


def _names(requested):
    """The columns of the schema in a capsule."""
    schema = ctypes.cast(_pointer_in(requested, SCHEMA), POINTER(_Schema)).contents
    if schema.format != b"+s":
        raise ValueError("the requested schema is not that of a table")
    return [schema.children[i].contents.name.decode() for i in range(schema.n_children)]


class Table:
    """Events of a trace as rows, thread after thread; each request reads the trace again.

    Times are nanoseconds since the start.  A `thread` is a number among Trace.threads; by `thread_named` it is a native
    id, a number in its process, or a name, as `kymo events` takes it, and `process` selects the threads of this pid.
    `function` is a glob of qualified names, and leaves out events without code; `test` selects what ran in this context
    or its phases.
    """

    def __init__(self, path, *, columns=None, kinds=None, thread=None, thread_named=None, process=None, start_ns=None,
                 end_ns=None, files=None, function=None, test=None):  # fmt: skip
        self._path = os.fspath(path)
        self._columns = None if columns is None else list(columns)
        self._files = None if files is None else [*map(as_bytes, files)]
        self._slice = _Slice(
            from_ns=-(1 << 63) if start_ns is None else start_ns,
            to_ns=(1 << 63) - 1 if end_ns is None else end_ns,
            process=process or 0,
            thread=-1 if thread is None else thread,
            thread_named=None if thread_named is None else as_bytes(thread_named),
            kinds=None if kinds is None else as_bytes(",".join([kinds] if isinstance(kinds, str) else kinds)),
            files=None if self._files is None else (c_char_p * (len(self._files) + 1))(*self._files),
            function=None if function is None else as_bytes(function),
            test=None if test is None else as_bytes(test),
        )
        self._open(self._columns)  # reports errors now

    def _open(self, columns):
        global _library
        _library = _library or _load()
        wanted = _Slice.from_buffer_copy(self._slice)
        wanted.columns = None if columns is None else as_bytes(",".join(columns))
        stream, message = _Stream(), ctypes.create_string_buffer(512)
        result = _library.kymo_arrow_open(
            as_bytes(self._path), byref(wanted), byref(stream), message, len(message))  # fmt: skip
        if result:
            raise failure(result, message.value, self._path)
        return _capsule(stream)

    def __arrow_c_stream__(self, requested_schema=None):
        """A capsule with a stream of batches; only columns that `requested_schema` names, if it is given."""
        return self._open(self._columns if requested_schema is None else _names(requested_schema))


def _capsule(stream):
    address = ctypes.addressof(stream)
    _streams[address] = stream
    return _new_capsule(address, STREAM, ctypes.cast(_destructor, c_void_p))
