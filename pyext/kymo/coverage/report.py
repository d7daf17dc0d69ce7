# SPDX-License-Identifier: Apache-2.0
"""The input of each format: the files to report, in order, and the options."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kymo.coverage.results import FileResult, Numbers, percent_text, total
from kymo.coverage.settings import Settings


@dataclass
class Report:
    results: list[FileResult]  # by name
    settings: Settings
    contexts: list[str] = field(default_factory=lambda: [""])
    are_hits_counted: bool = True  # else counts are only 0 or 1
    has_branches: bool = False
    version: str = ""  # of Kymo
    undefined: int = 0  # events of code without a definition

    @property
    def total(self) -> Numbers:
        return total(self.results)

    def percent_text(self, value: float) -> str:
        return percent_text(value, self.settings.precision)

    def line_contexts(self, result: FileResult) -> dict[int, list[str]]:
        """Names of the contexts that each line of the file ran in."""
        by_line: dict[int, set[str]] = {}
        for number, lines in result.counts.context_lines.items():
            for line in lines:
                by_line.setdefault(line, set()).add(self.contexts[number])
        return {line: sorted(names) for line, names in sorted(by_line.items())}


def printable(text: str) -> str:
    """@text with `?` for characters that would control a terminal, or end a line."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def pairs(ways: Mapping[int, list[int]]) -> list[tuple[int, int]]:
    return sorted((line, to) for line, tos in ways.items() for to in tos)
