# SPDX-License-Identifier: Apache-2.0
"""Several runs as one."""

import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping

from kymo.coverage.model import Counts, FileCounts


def merge(parts: Iterable[Counts], rename: Callable[[str], str] = lambda name: name) -> Counts:
    """All of @parts together; files that get the same name by @rename become one, if their sources are equal."""
    contexts: dict[str, int] = {"": 0}
    files: dict[tuple[str, bytes | None], FileCounts] = {}
    are_hits_counted = has_branches = True
    undefined = 0
    for part in parts:
        undefined += part.undefined
        are_hits_counted &= part.are_hits_counted
        has_branches &= part.has_branches
        numbers = [contexts.setdefault(name, len(contexts)) for name in part.contexts]
        for file in part.files:
            name = rename(file.file)
            key = name, file.source
            if key not in files:
                files[key] = FileCounts(name, file.version, file.source, file.is_verified)
            add(files[key], file, numbers)
    _settle_without_source(files)
    if not are_hits_counted:
        for file in files.values():
            for counts in (file.lines, file.branches, file.functions):
                counts.update((key, 1) for key, count in counts.items() if count > 1)
    return Counts(list(files.values()), list(contexts), are_hits_counted, has_branches, undefined)


def add(to: FileCounts, more: FileCounts, numbers: list[int]) -> None:
    """Add counts of the same source; @numbers: the numbers of its contexts in @to, by its own numbers."""
    to.is_verified &= more.is_verified
    to.is_incomplete |= more.is_incomplete
    _add_counts(to.lines, more.lines)
    _add_counts(to.branches, more.branches)
    _add_counts(to.functions, more.functions)
    for number, lines in more.context_lines.items():
        to.context_lines.setdefault(numbers[number], set()).update(lines)
    for number, branches in more.context_branches.items():
        to.context_branches.setdefault(numbers[number], set()).update(branches)


def _add_counts[Key](to: MutableMapping[Key, int], more: Mapping[Key, int]) -> None:
    for key, count in more.items():
        to[key] = to.get(key, 0) + count


def _settle_without_source(files: dict[tuple[str, bytes | None], FileCounts]) -> None:
    """If a run kept no sources, assume that it ran the only source of this name."""
    for name, source in list(files):
        if source is not None:
            continue
        known = [key for key in files if key[0] == name and key[1] is not None]
        if len(known) == 1:
            without = files.pop((name, None))
            numbers = list(range(1 + max([0, *without.context_lines, *without.context_branches])))
            add(files[known[0]], without, numbers)


def only_contexts(counts: Counts, is_chosen: Callable[[str], bool]) -> Counts:
    """What ran in the chosen contexts; counts are not known for a context."""
    chosen = {number for number, name in enumerate(counts.contexts) if is_chosen(name)}
    files = []
    for file in counts.files:
        lines = set().union(*(file.context_lines.get(number, ()) for number in chosen))
        branches = set().union(*(file.context_branches.get(number, ()) for number in chosen))
        kept = FileCounts(file.file, file.version, file.source, file.is_verified, file.is_incomplete)
        kept.lines = {line: int(line in lines) for line in file.lines}
        kept.branches = {branch: int(branch in branches) for branch in file.branches}
        kept.context_lines = {number: ran for number, ran in file.context_lines.items() if number in chosen}
        kept.context_branches = {number: taken for number, taken in file.context_branches.items() if number in chosen}
        files.append(kept)
    return Counts(files, counts.contexts, False, counts.has_branches, counts.undefined)


def absolute_name(name: str) -> str:
    """The name as in the report; names in angle brackets are not files."""
    return name if name.startswith("<") else os.path.abspath(name)
