# SPDX-License-Identifier: Apache-2.0
"""Who called whom: sums of a profile for formats that know only the caller of a call, not its whole stack."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kymo.profile._tree import Function, FunctionTimes, Node, Profile

MORE = Function(None, "(more than there was room for)", 0)


class Edge(NamedTuple):
    """`line`: of the caller; 0: not known, or not asked for."""

    caller: Function
    callee: Function
    line: int


@dataclass(slots=True)
class EdgeTimes:
    """Calls and times along an edge.

    `outermost`: of calls and resumes, those that began while no other along this edge ran.  Of recursive calls,
    `total_ns` has these alone, as all others lie in them.  `added_ns`: the time of those that began while the callee
    did not run at all: of all its callers together, and of calls that nobody made, that is its total; `added_calls`:
    that were made in these.
    """

    calls: int = 0
    resumes: int = 0
    outermost: int = 0
    self_ns: int = 0
    self_err_ns: int = 0
    total_ns: int = 0
    total_err_ns: int = 0
    added_ns: int = 0
    added_calls: int = 0

    @property
    def entries(self) -> int:
        return self.calls + self.resumes


def function_of(node: Node) -> Function:
    return MORE if node.is_more else node.function


def times_of(profile: Profile) -> Iterator[FunctionTimes]:
    """Of each function; and of what there was no room for, which has calls but no self time: that is its functions'."""
    yield from profile.times
    more = [node for node in profile.nodes if node.is_more]
    if more:
        calls, resumes = sum(node.calls for node in more), sum(node.resumes for node in more)
        total, err = sum(node.total_ns for node in more), sum(node.total_err_ns for node in more)
        yield FunctionTimes(MORE, calls, resumes, calls + resumes, 0, 0, total, err)


def edges_of(profile: Profile, by_line: bool = False) -> dict[Edge, EdgeTimes]:
    below = calls_below(profile)
    edges: dict[Edge, EdgeTimes] = {}
    running: dict[Edge | Function, int] = {}
    for node, is_begin in walk(profile):
        callee = function_of(node)
        if not is_begin:
            running[callee] -= 1
        elif node.parent is None:
            running[callee] = 1
        if node.parent is None:
            continue
        edge = Edge(function_of(node.parent), callee, node.call_line or 0 if by_line else 0)
        if not is_begin:
            running[edge] -= 1
            continue
        times = edges.setdefault(edge, EdgeTimes())
        times.calls += node.calls
        times.resumes += node.resumes
        times.self_ns += node.self_ns
        times.self_err_ns += node.self_err_ns
        if not running.get(edge):
            times.outermost += node.calls + node.resumes
            times.total_ns += node.total_ns
            times.total_err_ns += node.total_err_ns
        if not running.get(callee):
            times.added_ns += node.total_ns
            times.added_calls += below[node]
        running[callee] = running.get(callee, 0) + 1
        running[edge] = running.get(edge, 0) + 1
    return edges


def calls_below(profile: Profile) -> dict[Node, int]:
    """Calls in each node and all that it called."""
    below = {node: node.calls for node in profile.nodes}
    for node in reversed(profile.nodes):
        if node.parent is not None:
            below[node.parent] += below[node]
    return below


def walk(profile: Profile) -> Iterator[tuple[Node, bool]]:
    """Each node twice: before what it called, and after."""
    todo = [(root, True) for root in profile.roots]
    while todo:
        node, is_begin = todo.pop()
        yield node, is_begin
        if is_begin:
            todo.append((node, False))
            todo.extend((child, True) for child in node.children)
