# SPDX-License-Identifier: Apache-2.0
"""What the parts of coverage pass to each other: counts of a run, and the analysis of a source file.

Lines are numbers from 1.  An arc is a pair of lines; if the second is negative, the code object with that first
line was left.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Branch(NamedTuple):
    """One way of a branch instruction, in lines."""

    line: int  # of the instruction
    first_line: int  # of its code object
    trail: tuple[int, ...]  # the lines of the instructions that follow, up to the next branch, each once in a row
    is_exit: bool  # the trail ends by leaving the code object


@dataclass(slots=True)
class FileCounts:
    """What ran of one source file.  Different sources in two runs make two of these."""

    file: str  # the name in the code objects
    version: tuple[int, int]  # of the CPython that ran it
    source: bytes | None = None  # as it was when it ran; None: not in the trace
    is_verified: bool = False  # the source is known to be what ran
    is_incomplete: bool = False  # some of its events were not recorded
    lines: dict[int, int] = field(default_factory=dict)  # times that each ran; 0: in a code object that ran
    branches: dict[Branch, int] = field(default_factory=dict)  # times that each was taken
    functions: dict[tuple[str, int], int] = field(default_factory=dict)  # calls by qualified name and first line
    # by the number of the context
    context_lines: dict[int, set[int]] = field(default_factory=dict)
    context_branches: dict[int, set[Branch]] = field(default_factory=dict)


@dataclass(slots=True)
class Counts:
    """What ran in one or more traces."""

    files: list[FileCounts]
    contexts: list[str]  # by number; the first is "": in no context
    are_hits_counted: bool  # False: counts are only 0 or 1
    has_branches: bool  # were recorded, or rebuilt
    undefined: int = 0  # events of code without a definition


@dataclass(slots=True)
class Analysis:
    """What could have run of a source file, by the rules of coverage.py.  Lines are first lines of statements."""

    statements: set[int]  # excluded ones left out
    excluded: set[int]
    first_lines: Mapping[int, int]  # of each line of a statement that has more than one
    arcs: set[tuple[int, int]]  # all possible ones, excluded ones left out
    no_branch: set[int]  # lines whose branches are not counted (`# pragma: no branch`)
    reasons: dict[tuple[int, int], str] = field(default_factory=dict)  # why an arc may not have been taken
    # Below: how to read what ran as arcs (trails.py).
    # Leaving a `with` runs its first line again: arcs as they run, with what they count as; None: as nothing.
    over_with: dict[tuple[int, int], tuple[int, int] | None] = field(default_factory=dict)
    # By line: name and first line of a definition whose body is on that line; no branch decides on its arcs.
    one_line: dict[int, tuple[str, int]] = field(default_factory=dict)
    raises: dict[int, int] = field(default_factory=dict)  # lines with a `raise`, and its target
    async_loops: dict[int, int] = field(default_factory=dict)  # lines of `async for`, and those of its iterable

    def first_line(self, line: int) -> int:
        """The first line of the statement of @line."""
        return self.first_lines.get(line, line)

    def branches(self) -> dict[int, set[int]]:
        """The lines that more than one line can follow, each with those lines."""
        by_line: dict[int, set[int]] = {}
        for line, following in self.arcs:
            by_line.setdefault(line, set()).add(following)
        return {line: to for line, to in by_line.items() if line > 0 and len(to) > 1 and line not in self.no_branch}
