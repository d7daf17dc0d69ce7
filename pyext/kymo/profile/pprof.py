# SPDX-License-Identifier: Apache-2.0
"""The format of pprof: profile.proto, compressed.

Each node of the tree is a sample of four values: calls, resumes of generators and coroutines, nanoseconds of its own,
and the bound of their error.  Labels name its thread.
"""

import gzip
from collections.abc import Iterator
from typing import BinaryIO

from kymo.profile._tree import Node, Profile, Thread
from kymo.profile.edges import function_of
from kymo.profile.names import qualified, thread_name, with_place

_VALUES = (("calls", "count"), ("resumes", "count"), ("time", "nanoseconds"), ("error", "nanoseconds"))


def _varint(value):
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return encoded


def _number(field, value):
    return _varint(field << 3) + _varint(value) if value else b""


def _bytes(field, value):
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _packed(field, values):
    return _bytes(field, b"".join(map(_varint, values)))


class _Strings:
    def __init__(self):
        self.numbers = {"": 0}

    def __call__(self, text):
        return self.numbers.setdefault(text, len(self.numbers))


class _Tables:
    """Functions and places in them, by number from 1."""

    def __init__(self, strings):
        self.strings = strings
        self.functions, self.locations = {}, {}
        self.encoded = bytearray()

    def function(self, function):
        number = self.functions.get(function)
        if number is None:
            number = self.functions[function] = len(self.functions) + 1
            name = self.strings(qualified(function))
            # Without system names, pprof does not take names for C++, where <module> would be a template's argument.
            system_name = self.strings(with_place(function))
            message = _number(1, number) + _number(2, name) + _number(3, system_name)
            message += _number(4, self.strings(function.file or "")) + _number(5, function.line)
            self.encoded += _bytes(5, message)
        return number

    def location(self, function, line):
        number = self.locations.get((function, line))
        if number is None:
            number = self.locations[function, line] = len(self.locations) + 1
            place = _number(1, self.function(function)) + _number(2, line)
            self.encoded += _bytes(4, _number(1, number) + _bytes(4, place))
        return number


def write(profile: Profile, out: BinaryIO) -> None:
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as file:
        file.write(encode(profile))


def encode(profile: Profile) -> bytes:
    """A message Profile."""
    strings = _Strings()
    tables = _Tables(strings)
    message = bytearray()
    for kind, unit in _VALUES:
        message += _bytes(1, _number(1, strings(kind)) + _number(2, strings(unit)))
    labels = {thread: _labels(thread, strings) for thread in profile.threads}
    for node in profile.nodes:
        values = node.calls, node.resumes, node.self_ns, node.self_err_ns
        message += _bytes(2, _packed(1, _stack(node, tables)) + _packed(2, values) + labels[node.thread])
    message += tables.encoded
    comments = [strings(f"{profile.lost} events were lost")] if profile.lost else []
    time = strings("time")
    for text in strings.numbers:
        message += _bytes(6, text.encode("utf-8", "backslashreplace"))
    if profile.started_unix_ns:
        message += _number(9, profile.started_unix_ns + profile.begin_ns)
    message += _number(10, profile.end_ns - profile.begin_ns)
    for comment in comments:
        message += _number(13, comment)
    return bytes(message + _number(14, time))


def _stack(node: Node, tables: _Tables) -> Iterator[int]:
    """Locations, the innermost first: of callers, where they call."""
    function = function_of(node)
    yield tables.location(function, function.line)
    while node.parent is not None:
        above = function_of(node.parent)
        yield tables.location(above, node.call_line or above.line)
        node = node.parent


def _labels(thread: Thread, strings):
    encoded = _bytes(3, _number(1, strings("thread")) + _number(2, strings(thread_name(thread))))
    encoded += _bytes(3, _number(1, strings("pid")) + _number(3, thread.pid))
    if thread.native_id:
        encoded += _bytes(3, _number(1, strings("tid")) + _number(3, thread.native_id))
    return encoded
