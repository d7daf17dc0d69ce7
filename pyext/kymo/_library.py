# SPDX-License-Identifier: Apache-2.0
"""libkymo-replay, and what goes to it and comes from it: for all that call it."""

import ctypes
import os
from pathlib import Path


class Error(OSError):
    """What the library could not do."""


def failure(result, message, path=None):
    """The Error of a call that returned `result`; a message of a file begins with its name, which an OSError has apart."""
    if path is None:
        return Error(-result, as_text(message))
    path = os.fspath(path)
    return Error(-result, as_text(message).removeprefix(f"{os.fsdecode(path)}: "), path)


class Unique:
    """What holds memory of the library: a second object that gave it back as well would take it from the first."""

    def __reduce_ex__(self, protocol):
        raise TypeError(f"cannot copy or pickle a {type(self).__name__}: it has open resources; open the trace again")


class Sized(ctypes.Structure):
    """A structure of the library that begins with its size, and so says which version of it this is."""

    def __init__(self, *fields, **named):
        super().__init__(ctypes.sizeof(self), *fields, **named)

    @classmethod
    def array(cls, count):
        """An array of which the first element says the size of all."""
        made = (cls * count)()
        made[0].size = ctypes.sizeof(cls)
        return made


def load():
    """The library; each caller says itself what the functions take that it calls."""
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
