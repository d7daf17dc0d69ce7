# SPDX-License-Identifier: Apache-2.0
"""Flat profile and call graph as text, as gprof prints them.

A resumed generator or coroutine counts as a call.
"""

import functools
from collections.abc import Iterator

from kymo.profile._tree import Function, FunctionTimes, Profile
from kymo.profile.durations import error_text
from kymo.profile.edges import EdgeTimes, edges_of, times_of
from kymo.profile.names import distinct, qualified

SEPARATOR = "-----------------------------------------------"


def write(profile: Profile) -> Iterator[str]:
    """The text, in lines."""
    functions = sorted(times_of(profile), key=lambda each: (-each.self_ns, -each.calls))
    names = {each.function: qualified(each.function) for each in functions} | distinct(profile)
    observed = sum(each.self_ns for each in functions)
    yield from _flat(functions, names, observed)
    yield "\f"
    yield from _graph(profile, names, observed)


def _percent(ns, observed):
    return 100 * ns / observed if observed else 0.0


def _flat(functions: list[FunctionTimes], names: dict[Function, str], observed: int) -> Iterator[str]:
    yield "Flat profile:"
    yield ""
    yield "Each call was recorded; no time is a sample."
    yield "  %   cumulative   self              self     total           "
    yield " time   seconds   seconds    calls  us/call  us/call  name    "
    cumulative_ns = 0
    for each in functions:
        cumulative_ns += each.self_ns
        entries = each.calls + each.resumes
        yield (
            f"{_percent(each.self_ns, observed):6.2f} "
            f"{_seconds(cumulative_ns):>10s} {_seconds(each.self_ns):>10s} "
            f"{entries:8d} {_each(each.self_ns, entries):>8s} "
            f"{_each(each.total_ns, entries):>8s}  {names[each.function]}"
        )


def _seconds(ns: int) -> str:
    return f"{ns / 1e9:.6f}"


def _each(ns: int, entries: int) -> str:
    """Microseconds of each call."""
    return f"{ns / entries / 1000:.2f}" if entries else ""


class _Graph:
    """Functions by number, those of the largest totals first, and the edges between them."""

    def __init__(self, profile: Profile, names: dict[Function, str]) -> None:
        self.times = sorted(times_of(profile), key=lambda each: (-each.total_ns, -each.self_ns))
        functions = [each.function for each in self.times]
        self.by_function = dict(zip(functions, self.times, strict=True))
        self.into: dict[Function, dict[Function, EdgeTimes]] = {function: {} for function in functions}
        self.out_of: dict[Function, dict[Function, EdgeTimes]] = {function: {} for function in functions}
        for edge, times in edges_of(profile).items():
            self.into[edge.callee][edge.caller] = times
            self.out_of[edge.caller][edge.callee] = times
        self.cycles = _cycles(self.out_of)
        self.cycle_of = {function: number for number, cycle in enumerate(self.cycles, 1) for function in cycle}
        # Entries of cycles come after those of functions.
        self.index = {function: number for number, function in enumerate(functions, 1)}
        self.shown = {
            function: names[function]
            + (f" <cycle {self.cycle_of[function]}>" if function in self.cycle_of else "")
            + f" [{number}]"
            for function, number in self.index.items()
        }

    def is_inside(self, caller: Function, callee: Function) -> bool:
        return caller == callee or (caller in self.cycle_of and self.cycle_of[caller] == self.cycle_of.get(callee))

    @functools.cache  # noqa: B019 - it lives as long as the graph
    def entries(self, function: Function) -> tuple[int, int]:
        """Calls from outside of it, or its cycle, and from inside."""
        each = self.by_function[function]
        inside = sum(times.entries for caller, times in self.into[function].items() if self.is_inside(caller, function))
        return each.calls + each.resumes - inside, inside

    @functools.cache  # noqa: B019
    def from_outside(self, function: Function) -> int:
        """Calls from outside, of the whole cycle that it is in."""
        number = self.cycle_of.get(function)
        return sum(self.entries(each)[0] for each in (self.cycles[number - 1] if number else [function]))


def _cycles(out_of: dict[Function, dict[Function, EdgeTimes]]) -> list[list[Function]]:
    """Functions that call each other, directly or not: strongly connected components with several, by Tarjan's algorithm."""
    order: dict[Function, int] = {}
    low: dict[Function, int] = {}
    stack: list[Function] = []
    found: list[list[Function]] = []
    done: set[Function] = set()
    for root in out_of:
        todo = [(root, iter(out_of[root]))] if root not in order else []
        while todo:
            function, callees = todo[-1]
            if function not in order:
                order[function] = low[function] = len(order)
                stack.append(function)
            callee = next(callees, None)
            if callee is None:
                todo.pop()
                if todo:
                    caller = todo[-1][0]
                    low[caller] = min(low[caller], low[function])
                if low[function] == order[function]:
                    at = stack.index(function)
                    done.update(stack[at:])
                    if len(stack) - at > 1:
                        found.append(stack[at:])
                    del stack[at:]
            elif callee not in order:
                todo.append((callee, iter(out_of[callee])))
            elif callee not in done:
                low[function] = min(low[function], order[callee])
    return found


def _graph(profile: Profile, names: dict[Function, str], observed: int) -> Iterator[str]:
    graph = _Graph(profile, names)
    worst = max((each.total_err_ns for each in graph.times), default=0)
    yield "\t\t     Call graph"
    yield ""
    yield f"granularity: each call; no total time is more than {error_text(worst)} wrong"
    yield ""
    yield "index % time    self  children    called     name"
    for number, cycle in enumerate(graph.cycles, 1):
        yield from _cycle_entry(graph, number, cycle, observed)
    for each in graph.times:
        yield from _entry(graph, each, observed)
    yield "\f"
    yield "Index by function name"
    yield ""
    for function in sorted(graph.index, key=lambda function: names[function]):
        yield f"{f'[{graph.index[function]}]':>8s} {names[function]}"


def _entry(graph: _Graph, each: FunctionTimes, observed: int) -> Iterator[str]:
    function = each.function
    own = graph.into[function].get(function)
    callers = sorted(graph.into[function].items(), key=lambda item: item[1].added_ns)
    if all(caller == function for caller, _ in callers):
        yield f"{'<spontaneous>':>54s}"
    for caller, times in callers:
        if caller != function:
            yield _relative(graph, caller, function, times, graph.shown[caller])
    entries = each.calls + each.resumes
    called = f"{entries - own.entries}+{own.entries}" if own else str(entries)
    yield _primary(graph.index[function], each, called, graph.shown[function], observed)
    if own:
        yield f"{own.entries:>50d}             {graph.shown[function]}"
    for callee, times in sorted(graph.out_of[function].items(), key=lambda item: -item[1].added_ns):
        if callee != function:
            yield _relative(graph, function, callee, times, graph.shown[callee])
    yield SEPARATOR


def _cycle_entry(graph: _Graph, number: int, cycle: list[Function], observed: int) -> Iterator[str]:
    """Functions called from outside of the cycle do not run inside of each other: the sum of their totals is the cycle's."""
    index = len(graph.index) + number
    total_ns = total_err_ns = outside = inside = 0
    for function in cycle:
        each = graph.by_function[function]
        from_outside, from_inside = graph.entries(function)
        outside += from_outside
        inside += from_inside
        total_err_ns += each.total_err_ns
        total_ns += each.total_ns - sum(
            times.added_ns for caller, times in graph.into[function].items() if graph.is_inside(caller, function)
        )
    self_ns = sum(graph.by_function[function].self_ns for function in cycle)
    self_err_ns = sum(graph.by_function[function].self_err_ns for function in cycle)
    whole = FunctionTimes(cycle[0], 0, 0, 0, self_ns, self_err_ns, total_ns, total_err_ns)
    name = f"<cycle {number} as a whole> [{index}]"
    yield _primary(index, whole, f"{outside}+{inside}", name, observed)
    for function in cycle:
        each = graph.by_function[function]
        entries = each.calls + each.resumes
        times = f"{_self(each):>10s} {_seconds(_children(each)):>10s}"
        yield f"{'':13s}{times} {entries:>15d}             {graph.shown[function]}"
    yield SEPARATOR


def _children(each: FunctionTimes) -> int:
    return max(each.total_ns - each.self_ns, 0)


def _self(each: FunctionTimes) -> str:
    return _seconds(each.self_ns)


def _primary(index: int, each: FunctionTimes, called: str, name: str, observed: int) -> str:
    return (
        f"{f'[{index}]':6s} {_percent(each.total_ns, observed):5.1f} "
        f"{_self(each):>10s} {_seconds(_children(each)):>10s} {called:>15s}         {name}"
    )


def _relative(graph: _Graph, caller: Function, callee: Function, times: EdgeTimes, shown: str) -> str:
    """A caller or callee: of the callee's own time and that of what it called, as much as of its total."""
    if graph.is_inside(caller, callee):
        return f"{times.entries:>50d}             {shown}"
    each = graph.by_function[callee]
    own_ns = each.self_ns * times.added_ns // each.total_ns if each.total_ns else 0
    own, children = (_seconds(ns) for ns in (own_ns, times.added_ns - own_ns))
    called = f"{times.entries}/{graph.from_outside(callee)}"
    return f"{'':13s}{own:>10s} {children:>10s} {called:>15s}             {shown}"
