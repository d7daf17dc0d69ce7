# SPDX-License-Identifier: Apache-2.0
"""Options of a verb as read by the native program: words `name=value`, then `--` and the operands."""

import sys
from typing import NoReturn

USAGE = 2


class Options:
    def __init__(self, verb: str, words: list[str]) -> None:
        end = words.index("--")
        self.verb, self.operands = verb, words[end + 1 :]
        self._given = [(name, value) for name, _, value in (word.partition("=") for word in words[:end])]

    def error(self, message: str) -> NoReturn:
        print(f"kymo {self.verb}: {message}", file=sys.stderr)
        sys.exit(USAGE)

    def all(self, name: str) -> list[str]:
        return [value for known, value in self._given if known == name]

    def word(self, name: str) -> str | None:
        values = self.all(name)
        return values[-1] if values else None

    def number(self, name: str) -> int | None:
        """Times are in nanoseconds."""
        value = self.word(name)
        return None if value is None else int(value)

    def flag(self, name: str) -> bool:
        return bool(self.all(name))

    def switch(self, name: str) -> bool | None:
        """True for --name, False for --no-name, by the last one given; None: neither was given."""
        given = [known == name for known, _ in self._given if known in (name, f"no-{name}")]
        return given[-1] if given else None
