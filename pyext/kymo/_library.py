# SPDX-License-Identifier: Apache-2.0
"""libkymo-replay, and the types that it takes and returns: for all callers."""

import ctypes
import os
from pathlib import Path


class Error(OSError):
    """An error of the library."""


def failure(result, message, path=None):
    """The Error of a call that returned `result`; OSError has the file name that begins its message as an attribute."""
    if path is None:
        return Error(-result, as_text(message))
    path = os.fspath(path)
    return Error(-result, as_text(message).removeprefix(f"{os.fsdecode(path)}: "), path)


class Unique:
    """Owns memory of the library; not to be copied, since two owners would free it twice."""

    def __reduce_ex__(self, protocol):
        raise TypeError(f"cannot copy or pickle a {type(self).__name__}: it has open resources; open the trace again")


class Sized(ctypes.Structure):
    """A structure of the library that begins with its size, which shows its version."""

    def __init__(self, *fields, **named):
        super().__init__(ctypes.sizeof(self), *fields, **named)

    @classmethod
    def array(cls, count):
        """An array whose first element has the size of each."""
        made = (cls * count)()
        made[0].size = ctypes.sizeof(cls)
        return made


def load():
    """The library; each caller declares the functions that it calls."""
    beside = Path(__file__).with_name("libkymo-replay.so")
    return ctypes.CDLL(str(beside) if beside.exists() else "libkymo-replay.so.0")


def as_text(value):
    return None if value is None else value.decode("utf-8", "backslashreplace")


def as_bytes(text):
    encoded = os.fsencode(text)
    if b"\0" in encoded:
        raise ValueError("embedded null character")
    return encoded


def as_number(value):
    return None if value < 0 else value
