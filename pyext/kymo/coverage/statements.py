# SPDX-License-Identifier: Apache-2.0
"""The text of a source file, its statements, and those that are excluded."""

import ast
import io
import re
import token
import tokenize
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import CodeType

# What coverage.py excludes when nothing else is configured: its documented patterns.
DEFAULT_EXCLUDE = (
    r"#\s*(pragma|PRAGMA)[:\s]?\s*(no|NO)\s*(cover|COVER)",
    r"^\s*(((async )?def .*?)?[\])]+(\s*->.*?)?:\s*)?\.\.\.\s*(#|$)",
    r"^\s*if (typing\.)?TYPE_CHECKING:",
)
DEFAULT_PARTIAL = (r"#\s*(pragma|PRAGMA)[:\s]?\s*(no|NO)\s*(branch|BRANCH)",)
# These apply even if others are configured instead of the ones above.
ALWAYS_PARTIAL = (r"^\s*while (True|1|False|0):", r"^\s*if (True|1|False|0):")

LONGEST_BLANK_RUN = 40  # lines

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class AnalysisError(Exception):
    """A source file that cannot be analysed; the text is one line."""

    def __init__(self, file: str, line: int | None, what: str):
        super().__init__(f"{file}{f', line {line}' if line else ''}: {what}")
        self.file = file
        self.line = line  # None: unknown
        self.what = what


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """A statement without its suite, or several with semicolons, or the header of a compound one."""

    first: int
    last: int
    indent: int
    colon: int  # line of the last colon outside of brackets; 0: has none


@dataclass(slots=True)
class Source:
    """A source file, parsed."""

    text: str
    tree: ast.Module
    logical_lines: list[LogicalLine]
    first_lines: dict[int, int]  # of the lines of each logical line that has more than one
    code_lines: set[int]  # in the compiled code's line table

    def first(self, line: int) -> int:
        return self.first_lines.get(line, line)

    def firsts(self, lines: Iterable[int]) -> set[int]:
        return {self.first(line) for line in lines}


def decode(source: bytes) -> str:
    """The text of a source file, with line feeds alone as ends of lines, and one after the last.

    Bytes that are invalid in the file's encoding are replaced.  LookupError, SyntaxError: there is no such encoding.
    """
    source = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\f", b" ")
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    text = source.decode(encoding, "replace")
    return text if not text or text.endswith("\n") else text + "\n"


def parse(source: bytes, filename: str) -> Source:
    """Parse, tokenize and compile.  AnalysisError: one of them fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = decode(source)
            tree = ast.parse(text)
            logical_lines = list(_logical_lines(text))
            code = compile(text, filename, "exec", dont_inherit=True) if logical_lines else None
    except SyntaxError as error:
        raise AnalysisError(filename, error.lineno, error.msg) from error
    except tokenize.TokenError as error:
        raise AnalysisError(filename, error.args[1][0], error.args[0]) from error
    except (RecursionError, MemoryError) as error:
        raise AnalysisError(filename, None, "too deeply nested, or too big, for this Python") from error
    except (ValueError, LookupError, OverflowError) as error:
        raise AnalysisError(filename, None, str(error)) from error
    first_lines = {n: line.first for line in logical_lines if line.last > line.first
                   for n in range(line.first, line.last + 1)}
    return Source(text, tree, logical_lines, first_lines, set(_code_lines(code)) if code else set())


def _logical_lines(text: str) -> Iterator[LogicalLine]:
    first = indent = nesting = colon = 0
    for kind, word, (line, _), (end, _), _ in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind == token.INDENT:
            indent += 1
        elif kind == token.DEDENT:
            indent -= 1
        elif kind == token.NEWLINE:
            if first:
                yield LogicalLine(first, end, indent, colon)
            first = colon = 0
        elif kind != token.COMMENT and word.strip():
            first = first or line
            if kind == token.OP:
                nesting += (word in "([{") - (word in ")]}")
                if word == ":" and not nesting:
                    colon = end


def _code_lines(code: CodeType) -> Iterator[int]:
    todo = [code]
    while todo:
        code = todo.pop()
        todo += [const for const in code.co_consts if isinstance(const, CodeType)]
        if code.co_name != "__annotate__":  # annotations that are evaluated on demand, which is rare
            yield from (line for _, _, line in code.co_lines() if line)


def walk_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """@tree and the nodes below it down to statements, `except` and `case` clauses; outer ones come first."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        todo += [child for child in ast.iter_child_nodes(node)
                 if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case)]


def start_of(node: Definition) -> int:
    """The line on which a definition starts: that of its first decorator."""
    return node.decorator_list[0].lineno if node.decorator_list else node.lineno


def always_matches(case: ast.match_case) -> bool:
    """True for a clause without a guard that matches anything, as `case _` does."""
    pattern: ast.pattern | None = case.pattern
    while isinstance(pattern, ast.MatchOr | ast.MatchAs):
        pattern = pattern.patterns[-1] if isinstance(pattern, ast.MatchOr) else pattern.pattern
    return pattern is None and case.guard is None


def docstring_lines(source: Source) -> set[int]:
    lines: set[int] = set()
    for node in walk_statements(source.tree):
        if isinstance(node, ast.Module | Definition) and node.body:
            match node.body[0]:
                case ast.Expr(ast.Constant(str())) as first:
                    lines.update(_lines_of(first.lineno, first.end_lineno))
    return lines


def excluded_lines(source: Source, filename: str, patterns: Sequence[str]) -> set[int]:
    """Lines that a pattern matches, and suites and definitions that those introduce."""
    excluded = matching_lines(source.text, filename, patterns)
    _exclude_suites(source.logical_lines, excluded)
    excluded = source.firsts(excluded)
    for node in walk_statements(source.tree):
        if isinstance(node, Definition):
            start = min((decorator.lineno for decorator in node.decorator_list), default=node.lineno)
            if not excluded.isdisjoint(_lines_of(start, node.lineno)):
                excluded.update(_lines_of(start, node.end_lineno))
        elif isinstance(node, ast.match_case) and always_matches(node):
            # With nothing left of its body, the clause means as little as an `else` would.
            body = source.code_lines.intersection(_lines_of(node.body[0].lineno, node.body[-1].end_lineno))
            if body and body <= excluded:
                excluded.update(_lines_of(node.pattern.lineno, node.pattern.end_lineno))
    return excluded


def matching_lines(text: str, filename: str, patterns: Sequence[str]) -> set[int]:
    """The lines that a match of one of the patterns touches, its end included."""
    patterns = [pattern for pattern in patterns if pattern]
    if not patterns:
        return set()
    for pattern in patterns:
        _guarded(filename, pattern, lambda pattern=pattern: re.compile(pattern))
    whole = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{pattern})" for pattern in patterns)
    text, numbers = _shortened(text)
    spans = _guarded(filename, whole, lambda: [match.span() for match in re.finditer(whole, text, re.MULTILINE)])
    ends = [match.start() for match in re.finditer("\n", text)]
    lines: set[int] = set()
    for start, end in spans:
        lines.update(_lines_of(numbers[bisect_left(ends, start)], numbers[bisect_left(ends, end)]))
    return lines


def _shortened(text: str) -> tuple[str, list[int]]:
    """@text without the middle of long runs of blank lines, and the numbers of the lines that are left.

    Patterns that begin with `^\\s*` take time in proportion to the cube of such a run's length.
    """
    left: list[str] = []
    numbers: list[int] = []
    for is_text, run in groupby(enumerate(text.split("\n"), 1), lambda item: bool(item[1].strip())):
        lines = list(run)
        if not is_text and len(lines) > LONGEST_BLANK_RUN:
            half = LONGEST_BLANK_RUN // 2
            lines = lines[:half] + lines[-half:]
        numbers += [number for number, _ in lines]
        left += [line for _, line in lines]
    return "\n".join(left), numbers


def _guarded[T](filename: str, pattern: str, act: Callable[[], T]) -> T:
    try:
        return act()
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        raise AnalysisError(filename, None, f"invalid pattern {pattern!r}: {error}") from error


def _exclude_suites(logical_lines: Sequence[LogicalLine], excluded: set[int]) -> None:
    """Add to @excluded the suite of each header that has a line in it, up to the header's last colon."""
    around: int | None = None  # indent of the header whose suite is excluded
    for line in logical_lines:
        if around is not None and line.indent <= around:
            around = None
        if around is not None:
            excluded.add(line.first)
        elif line.colon and not excluded.isdisjoint(_lines_of(line.first, line.colon)):
            excluded.add(line.first)
            around = line.indent


def _lines_of(first: int, last: int | None) -> range:
    return range(first, (last or first) + 1)
