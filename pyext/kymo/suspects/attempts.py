# SPDX-License-Identifier: Apache-2.0
"""What is known of each attempt."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from kymo._history import Error, Trace
from kymo.coverage.counts import read
from kymo.coverage.errors import CoverageError
from kymo.coverage.merging import only_contexts
from kymo.coverage.model import Branch, Counts
from kymo.coverage.scope import Scope
from kymo.coverage.settings import Settings
from kymo.suspects.elements import BRANCH, CALL, GO, INTERLEAVING, LINE, NO_CALL, OF_SEQUENCES, VALUE, Key
from kymo.suspects.predicates import RAN, RETURNED, YIELDED, is_equality
from kymo.suspects.sequences import Loops, Sequences, find_loops, read_sequences


@dataclass(slots=True)
class Attempt:
    path: str
    has_failed: bool
    present: set[Key] = field(default_factory=set)
    sequences: Sequences = field(default_factory=Sequences)
    has_sequences: bool = False  # the order in which things ran is known
    incomplete: set[str] = field(default_factory=set)  # files some of whose events were not recorded
    sources: dict[str, bytes] = field(default_factory=dict)
    starts: dict[tuple[str, str], int] = field(default_factory=dict)  # first lines of functions

    @property
    def is_incomplete(self) -> bool:
        return bool(self.incomplete) or self.sequences.is_cut

    def has(self, key: Key) -> bool | None:
        """None: it is not known."""
        if key[0] == NO_CALL:
            called = self.has((CALL, *key[1:]))
            return None if called is None else not called
        if key in self.present:
            return True
        if key[0] == VALUE:
            return self._has_value(key)
        if key[0] in OF_SEQUENCES:
            is_known = self.has_sequences and not self.sequences.is_cut
            return False if is_known and (key[0] != INTERLEAVING or self.sequences.has_turns) else None
        return None if key[1] in self.incomplete else False

    def _has_value(self, key: Key) -> bool | None:
        """False: it was observed, and never held."""
        _, file, function, how, line = key[:5]
        values = self.sequences.values
        if not self.has_sequences or self.sequences.is_cut:
            return None
        if key[1:-1] in values.observed:
            return None if key[1:-1] in values.many and is_equality(key[-1]) else False
        was_there = self.has((LINE, file, line) if how == RAN else (CALL, file, function))
        if how in (RETURNED, YIELDED) and (file, function) in values.told:
            was_there = False  # it was not reached
        return None if was_there is not False else False

    def time(self, key: Key) -> int | None:
        """When it was first seen, as a number of events; None: not known."""
        first = self.sequences.first
        if key[0] == VALUE:
            return self.sequences.values.first.get(key)
        return first.get((GO, *key[1:]), first.get((LINE, key[1], key[2]))) if key[0] == BRANCH else first.get(key)


def read_attempt(path: str, has_failed: bool, settings: Settings, test: str | None, loops: dict[bytes, Loops]) -> Attempt:
    """CoverageError: the attempt cannot be used.  @loops: those of sources that were analysed before."""
    try:
        counts = read([path], contexts=test is not None)
        with Trace(path) as trace:
            return _read(trace, counts, Attempt(path, has_failed), settings, test, loops)
    except Error as error:
        raise CoverageError(f"{path}: {error.strerror}") from None


def _read(trace: Trace, counts: Counts, attempt: Attempt, settings: Settings, test: str | None,
          loops: dict[bytes, Loops]) -> Attempt:
    is_asked, are_hits_counted = None, counts.are_hits_counted
    if test is not None:
        is_asked = _is_of(test)
        if not any(map(is_asked, counts.contexts)):
            raise CoverageError(f"{attempt.path}: no test {test}")
        counts = only_contexts(counts, is_asked)
    folder = trace.facts.get("directory") or os.getcwd()
    names = {file.file: os.path.normpath(os.path.join(folder, file.file)) for file in counts.files
             if not file.file.startswith("<")}
    scope = Scope(settings, names.values())
    names = {file: _shown(path, folder) for file, path in names.items() if scope.has(path)}
    for file in counts.files:
        if name := names.get(file.file):
            ran = {line for line, hits in file.lines.items() if hits}
            attempt.present.update((LINE, name, line) for line in ran)
            attempt.present.update(way for branch, hits in file.branches.items() if hits and (way := _way(name, branch, ran)))
            attempt.present.update((CALL, name, function) for (function, _), hits in file.functions.items() if hits)
            attempt.starts.update(((name, function), line) for function, line in file.functions)
            if file.is_incomplete:
                attempt.incomplete.add(name)
            if file.source is not None:
                attempt.sources[name] = file.source
    for source in attempt.sources.values():
        if source not in loops:
            loops[source] = find_loops(source)
    # If each line was recorded only once, it is not known what else ran in between.
    attempt.has_sequences = are_hits_counted
    attempt.sequences = read_sequences(
        trace, names, {name: loops[source] for name, source in attempt.sources.items()}, is_asked
    )
    if attempt.has_sequences:
        kinds = OF_SEQUENCES | ({CALL} if test is not None else set())
        attempt.present.update(key for key in attempt.sequences.first if key[0] in kinds)
        attempt.present.update(attempt.sequences.values.first)
    return attempt


def _is_of(test: str) -> Callable[[str], bool]:
    # A test has phases: "test_x.py::test_a|setup", "…|run", "…|teardown".
    return lambda name: name == test or name.rpartition("|")[0] == test


def _shown(path: str, folder: str) -> str:
    inner = folder.rstrip("/") + "/"
    return path[len(inner):] if path.startswith(inner) else path


def _way(file: str, branch: Branch, ran: set[int]) -> Key | None:
    """None: it stays on its line, or an exception on the line kept what follows from running."""
    to = next((line for line in branch.trail if line != branch.line), None)
    if to not in ran if to is not None else not branch.is_exit:
        return None
    return BRANCH, file, branch.line, to or 0
