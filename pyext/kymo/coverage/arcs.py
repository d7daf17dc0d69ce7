# SPDX-License-Identifier: Apache-2.0
"""Which line can follow which, from the syntax tree.

Only what affects branches is followed: not exceptions of expressions, nor the paths of `return`, `break` and
`continue` through `finally`.
"""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kymo.coverage.statements import Definition, Source, always_matches, start_of, walk_statements

Arc = tuple[int, int]


class Exit(NamedTuple):
    """A way out of a statement to what comes next."""

    line: int
    why: str = ""  # why it may not have been taken, with {line} for the line
    withs: tuple[int, ...] = ()  # lines of the `with` statements that it leaves, innermost first


@dataclass(slots=True)
class Arcs:
    """All arcs of a file; the fields are those of Analysis."""

    arcs: set[Arc] = field(default_factory=set)
    reasons: dict[Arc, str] = field(default_factory=dict)
    over_with: dict[Arc, Arc | None] = field(default_factory=dict)
    one_line: dict[int, tuple[str, int]] = field(default_factory=dict)
    raises: dict[int, int] = field(default_factory=dict)
    async_loops: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Loop:
    line: int
    breaks: set[Exit] = field(default_factory=set)


class _Around(NamedTuple):
    """The targets of statements that jump."""

    leaving: int | None  # the number for leaving the function; None: not in a function
    raising: int | None  # target of an exception; None: not followed
    loop: _Loop | None = None


def find_arcs(source: Source) -> Arcs:
    """Every arc, excluded lines included, in first lines of statements."""
    finder = _Finder(source)
    for node in walk_statements(source.tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                finder.function(node)
            case ast.ClassDef():
                finder.class_(node)
            case ast.Module():
                finder.module(node)
    found = finder.found
    found.arcs = {(line, to) for line, to in found.arcs if line != to}
    return found


def constant_value(test: ast.expr) -> bool | None:
    """The constant value of a condition; None: it varies."""
    match test:
        case ast.Constant(value):
            return bool(value)
        case ast.Name("__debug__"):
            return __debug__
        case ast.UnaryOp(ast.Not(), operand):
            value = constant_value(operand)
            return None if value is None else not value
        case ast.BoolOp(operation, values):
            known = [constant_value(value) for value in values]
            if None not in known:
                return any(known) if isinstance(operation, ast.Or) else all(known)
    return None


class _Finder:
    def __init__(self, source: Source):
        self.first = source.first
        self.lines = source.firsts(source.code_lines)
        self.found = Arcs()

    def module(self, node: ast.Module) -> None:
        around = _Around(None, None)
        exits = self.suite(node.body, set(), around) if node.body else {Exit(1)}
        self.draw(exits, -self.first(1))

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        leaving = -self.first(start_of(node))
        self.note_one_line(node)
        self.draw(self.suite(node.body, set(), _Around(leaving, leaving)), leaving)

    def class_(self, node: ast.ClassDef) -> None:
        self.note_one_line(node)
        self.draw(self.suite(node.body, set(), _Around(None, None)), -self.first(start_of(node)))

    def note_one_line(self, node: Definition) -> None:
        line = self.first(node.lineno)
        if line == self.first(node.body[0].lineno):
            self.found.one_line[line] = (node.name, self.first(start_of(node)))

    def draw(self, exits: Iterable[Exit], to: int) -> None:
        for line, why, withs in exits:
            arc = (line, to)
            self.found.arcs.add(arc)
            if why:
                self.found.reasons.setdefault(arc, why.format(line=line))
            if withs:
                self.found.over_with.setdefault((line, withs[0]), arc)
            for leaving, after in zip(withs, (*withs[1:], to)):
                self.found.over_with.setdefault((leaving, after), None)

    def line_of(self, node: ast.stmt) -> int:
        return self.first(start_of(node) if isinstance(node, Definition) else node.lineno)

    def suite(self, statements: Sequence[ast.stmt], exits: set[Exit], around: _Around) -> set[Exit]:
        """Draw from @exits through the statements that have code; returns the exits of the last one."""
        for statement in statements:
            line = self.line_of(statement)
            if line in self.lines:
                self.draw(exits, line)
                exits = self.after(statement, line, around)
        return exits

    def after(self, node: ast.stmt, line: int, around: _Around) -> set[Exit]:
        match node:
            case ast.If():
                return self.after_if(node, line, around)
            case ast.For() | ast.AsyncFor():
                if isinstance(node, ast.AsyncFor):
                    self.found.async_loops[line] = node.iter.lineno
                return self.after_loop(node, line, around, "the loop on line {line} never started",
                                       Exit(line, "the loop on line {line} never ended by itself"))
            case ast.While():
                is_endless = constant_value(node.test) is not None and not node.orelse
                end = None if is_endless else Exit(line, "the condition on line {line} was never false")
                return self.after_loop(node, line, around, "the condition on line {line} was never true", end)
            case ast.Match():
                return self.after_match(node, line, around)
            case ast.Try() | ast.TryStar():
                return self.after_try(node, line, around)
            case ast.With() | ast.AsyncWith():
                return self.after_with(node, line, around)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return self.after_definition(node)
            case ast.Return():
                if around.leaving is not None:
                    self.draw({Exit(line)}, around.leaving)
                return set()
            case ast.Raise():
                if around.raising is not None:
                    self.draw({Exit(line)}, around.raising)
                    self.found.raises[line] = around.raising
                return set()
            case ast.Break():
                if around.loop:
                    around.loop.breaks.add(Exit(line))
                return set()
            case ast.Continue():
                if around.loop:
                    self.draw({Exit(line)}, around.loop.line)
                return set()
        return {Exit(line)}

    def after_if(self, node: ast.If, line: int, around: _Around) -> set[Exit]:
        exits: set[Exit] = set()
        while True:  # once for each `elif`: there can be more of them than the recursion limit
            value = constant_value(node.test)
            if value is not False:
                exits |= self.suite(node.body, {Exit(line, "the condition on line {line} was never true")}, around)
            if value is True:
                return exits
            otherwise = {Exit(line, "the condition on line {line} was never false")}
            match node.orelse:
                case [ast.If() as inner] if (at := self.line_of(inner)) in self.lines:
                    self.draw(otherwise, at)
                    node, line = inner, at
                case orelse:
                    return exits | self.suite(orelse, otherwise, around)

    def after_loop(self, node: ast.For | ast.AsyncFor | ast.While, line: int, around: _Around, why: str,
                   end: Exit | None) -> set[Exit]:
        """@end: the exit when the loop is finished; None: there is none."""
        loop = _Loop(line)
        self.draw(self.suite(node.body, {Exit(line, why)}, around._replace(loop=loop)), line)
        return loop.breaks | (self.suite(node.orelse, {end}, around) if end else set())

    def after_match(self, node: ast.Match, line: int, around: _Around) -> set[Exit]:
        exits: set[Exit] = set()
        before = Exit(line)
        for case in node.cases:
            line = self.first(case.pattern.lineno)
            self.draw({before}, line)
            exits |= self.suite(case.body, {Exit(line, "the pattern on line {line} never matched")}, around)
            before = Exit(line, "the pattern on line {line} always matched")
        return exits if always_matches(node.cases[-1]) else exits | {before}

    def after_try(self, node: ast.Try | ast.TryStar, line: int, around: _Around) -> set[Exit]:
        handler = self.first(node.handlers[0].lineno) if node.handlers else None
        exits = self.suite(node.body, {Exit(line)}, around._replace(raising=handler))
        outside = around._replace(raising=None) if node.finalbody else around
        handled: set[Exit] = set()
        for clause in node.handlers:
            start = Exit(self.first(clause.lineno), "the exception that line {line} catches was not raised")
            handled |= self.suite(clause.body, {start}, outside)
        exits = self.suite(node.orelse, exits, outside) | handled
        if not node.finalbody:
            return exits
        final = self.suite(node.finalbody, exits, around)
        if exits:
            return final
        for exit in final:  # it leads nowhere, so it ends at the outermost `with` that it leaves
            if exit.withs:
                self.draw({exit._replace(withs=exit.withs[:-1])}, exit.withs[-1])
        return set()

    def after_with(self, node: ast.With | ast.AsyncWith, line: int, around: _Around) -> set[Exit]:
        exits = self.suite(node.body, {Exit(line)}, around)
        return {exit if exit.line == line else exit._replace(withs=(*exit.withs, line)) for exit in exits}

    def after_definition(self, node: Definition) -> set[Exit]:
        lines = [self.first(decorator.lineno) for decorator in node.decorator_list] + [self.first(node.lineno)]
        for line, to in zip(lines, lines[1:]):
            self.draw({Exit(line)}, to)
        return {Exit(lines[-1])}
