# SPDX-License-Identifier: Apache-2.0
"""Functions and classes of a source file, with the lines that belong to each.

As in coverage.py, a line belongs to the innermost function alone; those of a class are the bodies of its methods.
"""

import ast
from dataclasses import dataclass


@dataclass(slots=True)
class Region:
    kind: str  # "function", "class"
    name: str  # "Class.method", "outer.inner"
    start: int  # line of `def` or `class`
    first: int  # of its first decorator, where its code object begins
    lines: set[int]


def find_regions(source: bytes) -> list[Region]:
    """In the order of the file.  SyntaxError or ValueError: it is not Python."""
    regions: list[Region] = []
    _collect(ast.parse(source), [], regions)
    return regions


def _collect(node: ast.AST, around: list[Region], regions: list[Region]) -> None:
    for child in _statements(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            _collect(child, around, regions)
            continue
        is_class = isinstance(child, ast.ClassDef)
        name = f"{around[-1].name}.{child.name}" if around else child.name
        first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
        region = Region("class" if is_class else "function", name, child.lineno, first, set())
        regions.append(region)
        if not is_class:
            region.lines.update(range(child.body[0].lineno, (child.body[-1].end_lineno or 0) + 1))
            _claim(region, around)
        _collect(child, [*around, region], regions)
        if is_class:
            for outer in around:
                if outer.kind == "class":
                    outer.lines -= region.lines


def _claim(function: Region, around: list[Region]) -> None:
    """Give a function's lines to its class, and take them from the function around it."""
    if around and around[-1].kind == "class":
        around[-1].lines |= function.lines
    for outer in reversed(around):
        if outer.kind == "function":
            outer.lines -= function.lines
            break


def _statements(node: ast.AST) -> list[ast.AST]:
    """The statements directly below, in `except` and `case` clauses, too."""
    return [child for field in ("body", "orelse", "finalbody", "handlers", "cases") for child in _list(node, field)]


def _list(node: ast.AST, field: str) -> list[ast.AST]:
    value = getattr(node, field, ())
    return value if isinstance(value, list) else []
