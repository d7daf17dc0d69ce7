# SPDX-License-Identifier: Apache-2.0
"""Patterns of file names, as in coverage.py's settings."""

import os
import re

from kymo.coverage.errors import CoverageError

_WRONG = re.compile(r"\*{3,}|[^/]\*\*|\*\*[^/]|\*\*/\*\*")
_TOKEN = re.compile(
    r"(?P<folders>^\*{1,2}/|\*\*/)|(?P<rest>/\*+$)|(?P<star>\*)|(?P<one>\?)|(?P<set>\[[^\]]*\])|(?P<bracket>[\[\]])|.",
    re.S,
)
_REGEX = {"folders": "(?:.*/)?", "rest": "/.*", "star": "[^/]*", "one": "[^/]"}


def to_regex(pattern: str) -> str:
    """A pattern without a slash matches a name in any folder; `**` stands for any folders, `*` for no slash."""
    pattern = pattern.replace("\\", "/")
    if "/" not in pattern:
        pattern = "**/" + pattern
    if wrong := _WRONG.search(pattern):
        raise CoverageError(f"invalid pattern '{pattern}': '{wrong[0]}' is not allowed")
    return "".join(_translate(match, pattern) for match in _TOKEN.finditer(pattern))


def _translate(token: re.Match[str], pattern: str) -> str:
    if token["bracket"]:
        raise CoverageError(f"invalid pattern '{pattern}': unexpected '{token[0]}'")
    if token["set"]:
        return token[0]
    return _REGEX.get(token.lastgroup or "", re.escape(token[0]))


def absolute(path: str) -> str:
    return os.path.realpath(path)


class Patterns:
    """A list of patterns; those that do not begin with a wildcard are relative to the working directory, too."""

    def __init__(self, patterns: list[str]):
        anchored = [absolute(pattern) for pattern in patterns if not pattern.startswith(("*", "?"))]
        self._regex = re.compile("|".join(f"(?:{to_regex(pattern)})" for pattern in [*patterns, *anchored]))
        self._is_empty = not patterns

    def __bool__(self) -> bool:
        return not self._is_empty

    def match(self, path: str) -> bool:
        return not self._is_empty and self._regex.fullmatch(path) is not None


class Remapping:
    """[paths]: the first folder in each list replaces the others."""

    def __init__(self, lists: dict[str, list[str]], is_relative: bool = False):
        self._rules: list[tuple[re.Pattern[str], str]] = []
        for result, *others in filter(None, lists.values()):
            for pattern in others:
                self._rules.append((_folder_regex(pattern, is_relative), result.rstrip("/") + "/"))
        self._is_relative = is_relative

    def map(self, path: str) -> str:
        for regex, result in self._rules:
            if match := regex.match(path):
                moved = result + path[match.end() :]
                return os.path.normpath(moved) if self._is_relative else absolute(moved)
        return path


def _folder_regex(pattern: str, is_relative: bool) -> re.Pattern[str]:
    pattern = pattern.rstrip("/\\") or "/"
    if pattern.endswith("*"):
        raise CoverageError(f"invalid pattern in [paths]: '{pattern}' ends with a wildcard")
    if not is_relative and not pattern.startswith(("*", "/")) and pattern[1:2] != ":":
        pattern = absolute(pattern)
    return re.compile(to_regex(pattern.rstrip("/") + "/"), re.IGNORECASE)
