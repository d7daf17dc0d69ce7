# SPDX-License-Identifier: Apache-2.0
"""What ran in traces, by libkymo-replay; replay/library/coverage.h says what each field holds."""

import ctypes
import os
import struct
from array import array
from collections.abc import Iterable
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from itertools import islice

from kymo._library import as_bytes, as_text, failure, load
from kymo.coverage.model import Branch, Counts, FileCounts

_CONTEXTS, _HITS, _BRANCHES, _SOURCE, _VERIFIED, _INCOMPLETE = 1, 2, 4, 8, 16, 32
_FILE = "@PPQQQQQII"
_LINE = "@QI4x"
_BRANCH = "@QQQIII4x"
_FUNCTION = "@PQI4x"
_SET = "@QQI4x"


class _Coverage(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        *((name, c_uint64) for name in (
            "flags", "undefined", "file_count", "context_count", "line_count", "branch_count", "trail_count",
            "function_count", "set_count", "set_line_count", "set_branch_count")),
        *((name, c_void_p) for name in (
            "files", "lines", "branches", "trails", "functions", "sets", "set_lines", "set_branches", "contexts")),
    ]  # fmt: skip


_library = None


def _load():
    library = load()
    library.kymo_coverage_read.restype = c_int
    library.kymo_coverage_read.argtypes = c_char_p, c_uint32, POINTER(POINTER(_Coverage)), c_char_p, c_size_t
    library.kymo_coverage_free.restype = None
    library.kymo_coverage_free.argtypes = (POINTER(_Coverage),)
    return library


def _rows(layout, address, count):
    return struct.iter_unpack(layout, ctypes.string_at(address, count * struct.calcsize(layout)) if count else b"")


def _numbers(address, count):
    return array("I", ctypes.string_at(address, 4 * count) if count else b"")


def _name(address):
    return as_text(ctypes.string_at(address))


def read(paths: Iterable[str | os.PathLike[str]], *, contexts: bool = False) -> Counts:
    """What ran in the traces at `paths`, added up.

    With `contexts`, also which lines and branches ran in each context; traces that do not know that are refused.
    Raises kymo.Error for a file that is not a trace, and for a trace without recorded lines.
    """
    global _library
    _library = _library or _load()
    total = _Total()
    for path in paths:
        found, message = POINTER(_Coverage)(), ctypes.create_string_buffer(512)
        result = _library.kymo_coverage_read(
            as_bytes(path), _CONTEXTS if contexts else 0, byref(found), message, len(message)
        )
        if result:
            raise failure(result, message.value, path)
        try:
            total.add(found.contents, contexts)
        finally:
            _library.kymo_coverage_free(found)
    return total.finish()


class _Total:
    def __init__(self):
        self.files = {}
        self.contexts = {"": 0}
        self.are_hits_counted = self.has_branches = True
        self.undefined = 0

    def add(self, found, contexts):
        """Add the counts of one trace."""
        self.are_hits_counted &= bool(found.flags & _HITS)
        self.has_branches &= bool(found.flags & _BRANCHES)
        self.undefined += found.undefined
        lines = _rows(_LINE, found.lines, found.line_count)
        branches = _rows(_BRANCH, found.branches, found.branch_count)
        functions = _rows(_FUNCTION, found.functions, found.function_count)
        sets = _rows(_SET, found.sets, found.set_count)
        trails = _numbers(found.trails, found.trail_count)
        set_lines = iter(_numbers(found.set_lines, found.set_line_count))
        set_branches = iter(_numbers(found.set_branches, found.set_branch_count))
        names = [self._number(_name(each)) for each, in _rows("@P", found.contexts, found.context_count)]
        for file, source, size, line_count, branch_count, function_count, set_count, version, flags in _rows(
            _FILE, found.files, found.file_count
        ):
            text = ctypes.string_at(source, size) if flags & _SOURCE else None
            counts = self._file(_name(file), (version >> 8, version & 0xFF), text, bool(flags & _VERIFIED))
            counts.is_incomplete |= bool(flags & _INCOMPLETE)
            _add(counts.lines, ((line, hits) for hits, line in islice(lines, line_count)))
            ways = [
                (Branch(line, first_line, tuple(trails[first : first + count]), bool(is_exit)), hits)
                for hits, first, count, line, first_line, is_exit in islice(branches, branch_count)
            ]
            _add(counts.branches, ways)
            called = islice(functions, function_count)
            _add(counts.functions, (((_name(name), line), calls) for name, calls, line in called))
            if not set_count:
                continue
            # Each number is one object, shared by all sets that have it.
            known = {line: line for line in counts.lines}
            taken = [way for way, _ in ways]
            for line_count, branch_count, number in islice(sets, set_count):
                context = names[number]
                _join(counts.context_lines, context, map(known.__getitem__, islice(set_lines, line_count)))
                if branch_count:
                    _join(counts.context_branches, context, map(taken.__getitem__, islice(set_branches, branch_count)))

    def finish(self):
        if not self.are_hits_counted:
            for counts in self.files.values():
                for hits in counts.lines, counts.branches, counts.functions:
                    hits.update((key, 1) for key, number in hits.items() if number > 1)
        return Counts(
            list(self.files.values()), list(self.contexts), self.are_hits_counted, self.has_branches, self.undefined
        )

    def _number(self, context):
        return self.contexts.setdefault(context, len(self.contexts))

    def _file(self, file, version, source, is_verified):
        """Equal sources share one entry."""
        counts = self.files.get((file, version, source))
        if counts is None:
            counts = self.files[file, version, source] = FileCounts(file, version, source, is_verified)
        counts.is_verified &= is_verified
        return counts


def _add(hits, more):
    for key, number in more:
        hits[key] = hits.get(key, 0) + number


def _join(sets, context, more):
    if context in sets:
        sets[context].update(more)
    else:
        sets[context] = set(more)
