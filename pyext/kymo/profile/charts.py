# SPDX-License-Identifier: Apache-2.0
"""Charts of boxes as page/boxes.js draws them: a flame graph of a profile, and the calls of threads over time."""

from collections.abc import Callable
from typing import Any

from kymo.profile import durations
from kymo.profile._tree import Function, Node, Profile, Thread
from kymo.profile.edges import function_of
from kymo.profile.names import one_line, thread_name

MOST_BOXES = 15_000  # of a flame graph
MERGED, CUT, TASK = 1, 2, 8  # as of timeline.Box, and: when a task ran
THREAD, MORE = -1, -2  # instead of a function


class Chart:
    """Boxes by row and begin, as lists of columns."""

    def __init__(self) -> None:
        self.boxes: list[tuple[Any, ...]] = []

    def add(self, row: int, begin: int, end: int, function: int, calls: int, flags: int, *texts: str) -> None:
        self.boxes.append((row, begin, end, function, calls, flags, *texts))

    def as_data(self, low: int, high: int, rows: list[str | None]) -> dict[str, Any]:
        self.boxes.sort(key=lambda box: box[:3])
        columns = list(zip(*self.boxes, strict=True)) or [()] * 8
        names = ("row", "begin", "end", "function", "calls", "flags", "time", "more")
        return {"low": low, "high": high, "rows": rows, "notes": [], **dict(zip(names, columns, strict=True))}


def place(function: Function) -> str:
    if function.file is None:
        return "in C" if function.is_c else ""
    return one_line(f"{function.file}:{function.line}")


def title(thread: Thread) -> str:
    return f"{thread_name(thread)}, process {thread.pid}"


def _kept(nodes: list[Node], most: int) -> set[Node]:
    """The nodes with the largest times, each after its parent, which took at least as long."""
    return set(sorted(nodes, key=lambda node: -node.total_ns)[:most])


class _Place:
    """All nodes of one function that are called by another place, or by a thread."""

    __slots__ = ("calls", "children", "error", "is_cut", "self_error", "self_ns", "total_ns")

    def __init__(self) -> None:
        self.calls = self.total_ns = self.error = self.self_ns = self.self_error = 0
        self.is_cut = False
        self.children: dict[Any, _Place] = {}

    def add(self, node: Node) -> None:
        self.calls += node.calls
        self.total_ns += node.total_ns
        self.error += node.total_err_ns
        self.self_ns += node.self_ns
        self.self_error += node.self_err_ns
        self.is_cut |= node.is_cut


def flame(profile: Profile, number: Callable[[Any], int], most: int = MOST_BOXES) -> dict[str, Any]:
    """Row 0 has threads, those below what they called, each as wide as it took time.  `number`: of a function."""
    kept = _kept(profile.nodes, most)
    top = _Place()
    places: dict[Node, _Place] = {}
    for node in profile.nodes:
        above = places.get(node.parent) if node.parent else _thread_place(top, node.thread)
        if above is None:
            continue  # its caller is left out
        # All that is left out of a place is one box beside the others.
        key = function_of(node) if node in kept else None
        found = above.children.setdefault(key, _Place())
        found.add(node)
        if node.parent is None:
            top.children[node.thread].add(node)
        if node in kept:
            places[node] = found
    chart, at, depth = Chart(), 0, 1
    for thread, found in top.children.items():
        depth = max(depth, _lay_out(chart, found, thread, at, number))
        at += found.total_ns
    data = chart.as_data(0, at, [None] * depth)
    return data | {"left_out": len(profile.nodes) - len(places)}


def _thread_place(top: _Place, thread: Thread) -> _Place:
    return top.children.setdefault(thread, _Place())


def _lay_out(chart: Chart, found: _Place, thread: Thread, begin: int, number: Callable[[Any], int]) -> int:
    deepest = 0
    todo: list[tuple[int, int, Any, _Place]] = [(0, begin, thread, found)]
    while todo:
        row, at, key, box = todo.pop()
        deepest = max(deepest, row + 1)
        if box.total_ns <= 0:
            continue
        function = THREAD if key is thread else MORE if key is None else number(key)
        more = title(thread) if key is thread else durations.text(box.self_ns, box.self_error)
        flags = (CUT if box.is_cut else 0) | (MERGED if key is None else 0)
        chart.add(row, at, at + box.total_ns, function, box.calls, flags, durations.text(box.total_ns, box.error), more)
        if key is None:
            continue
        for below, child in sorted(box.children.items(), key=lambda item: -item[1].total_ns):
            todo.append((row + 1, at, below, child))
            at += child.total_ns
    return deepest
