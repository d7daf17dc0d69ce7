# SPDX-License-Identifier: Apache-2.0
"""The order in which things ran in one attempt: one pass over its events in the files of interest.

Its work is bounded, so that neither a long run nor a long function takes too long: see the constants.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kymo._history import Trace
from kymo.suspects.elements import CALL, CALL_ORDER, EXCEPTION, GO, INTERLEAVING, LINE, ORDER, ROUND, Key
from kymo.suspects.predicates import CALLED, RAN, RETURNED, YIELDED, Observer, Told, Values

EVENTS = 1_000_000  # of one attempt
ROUNDS = 5  # of a loop, from its first on
ORDERED = 40  # different lines of one activation, and functions that it called, from the first on
ACTIVATIONS = 64  # of one function, with different orders
KINDS = ("LINE", "PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND", "RAISE", "MARK", "GAP", "UNKNOWN")

Loops = Mapping[int, tuple[tuple[int, int], ...]]  # of each line: first and last line of the loops around it


@dataclass(slots=True)
class Sequences:
    """What one pass found.  Times are numbers of events."""

    first: dict[Key, int] = field(default_factory=dict)  # when each was first seen
    functions: dict[tuple[str, int], str] = field(default_factory=dict)  # by file and line
    bodies: dict[tuple[str, str], int] = field(default_factory=dict)  # of functions: the first line that ran
    # Of interleavings: the lines up to the next event that was recorded, for it may have stood in front of any of them.
    next_lines: dict[Key, dict[int, None]] = field(default_factory=dict)
    values: Values = field(default_factory=Values)
    is_cut: bool = False  # not all events were read, or some are missing
    has_turns: bool = True  # the order between threads is known


class _Frame:
    __slots__ = ("file", "function", "start", "line", "rounds", "order", "callees", "pending", "values")

    def __init__(self, file: str, function: str):
        self.file, self.function = file, function
        self.start: int | None = None
        self.line: int | None = None
        self.rounds: dict[int, int] = {}
        self.order: dict[int, int] = {}
        self.callees: dict[tuple[str, str], int] = {}
        self.pending: list[Key] = []
        self.values: dict[str, Told] = {}


class _Thread:
    __slots__ = ("process", "stack", "root", "suspended", "last", "meanwhile")

    def __init__(self, process: object):
        self.process = process
        self.stack: list[_Frame] = []
        self.root = _Frame("", "")
        self.suspended: dict[tuple[str, str], list[_Frame]] = {}
        self.last = ""
        self.meanwhile: dict[tuple[str, int], int] = {}


def find_loops(source: bytes | None) -> Loops:
    """`for` and `while` statements whose body does not begin on their line."""
    around: dict[int, tuple[tuple[int, int], ...]] = {}
    try:
        tree = ast.parse(source or b"")
    except (SyntaxError, ValueError, RecursionError):
        return around
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.AsyncFor | ast.While)]
    for node in sorted(loops, key=lambda node: node.lineno):
        end = node.body[-1].end_lineno or node.lineno
        if node.body[0].lineno > node.lineno:
            for line in range(node.lineno, end + 1):
                around[line] = (*around.get(line, ()), (node.lineno, end))
    return around


def read_sequences(
    trace: Trace, names: Mapping[str, str], loops: Mapping[str, Loops], is_asked: Callable[[str], bool] | None
) -> Sequences:
    """Of an open trace.  @names: what the files are called, by the names that the trace has for them.

    @is_asked: of which contexts; None: of all.
    """
    return _Walk(trace, names, loops, is_asked).run(trace)


class _Walk:
    def __init__(self, trace: Trace, names: Mapping[str, str], loops: Mapping[str, Loops],
                 is_asked: Callable[[str], bool] | None):
        self.found = Sequences()
        self.names, self.loops, self.is_asked = names, loops, is_asked
        self.threads = [_Thread(thread["pid"]) for thread in trace.threads]
        self.asked = {thread.process: is_asked is None for thread in self.threads}
        self.orders: dict[tuple[str, str, str], set[tuple[object, ...]]] = {}
        self.now = 0
        self.observer = Observer(has_lines=(trace.config or {}).get("values") != "args")
        self.found.values = self.observer.found

    def run(self, trace: Trace) -> Sequences:
        for event in trace.events(kinds=KINDS, files=self.names, values="brief"):
            thread = self.threads[event.thread]
            if event.event == "MARK":
                self._mark(thread, event.name or "")
                continue
            if not self.asked[thread.process]:
                continue
            if event.event in ("GAP", "UNKNOWN"):
                self.found.is_cut = True
                self._leave_all(thread)
                continue
            if event.file is None or event.function is None:
                continue
            self.now += 1
            if self.now > EVENTS:
                self.found.is_cut = True
                break
            self._take(thread, event.event, self.names[event.file], event)
        for thread in self.threads:
            self._leave_all(thread)
        return self.found

    def _mark(self, thread: _Thread, text: str) -> None:
        if self.is_asked and text.startswith("context:"):
            for other in self.threads:
                if other.process == thread.process:
                    self._leave_all(other)
            self.asked[thread.process] = self.is_asked(text.removeprefix("context:"))

    def _take(self, thread: _Thread, kind: str, file: str, event) -> None:
        if not event.turn:
            self.found.has_turns = False
        if thread.meanwhile:
            self._come_back(thread)
        stack, function = thread.stack, event.function
        if kind == "LINE":
            if not stack or stack[-1].function != function or stack[-1].file != file:
                stack.append(_Frame(file, function))
            frame = stack[-1]
            if event.values_json:
                frame.values.update(self.observer.read(event.values_json))
            self._values_after(frame)
            if event.line is not None:
                self._line(thread, frame, event.line)
        elif kind == "PY_START":
            self._see((CALL, file, function))
            caller = stack[-1] if stack else thread.root
            if len(caller.callees) < ORDERED:
                caller.callees.setdefault((file, function), self.now)
            stack.append(_Frame(file, function))
            stack[-1].start = event.line
            if event.values_json:
                stack[-1].values.update(self.observer.read(event.values_json))
                self.observer.see(file, function, CALLED, 0, stack[-1].values.values(), self.now)
        elif kind in ("PY_RESUME", "PY_THROW"):
            waiting = thread.suspended.get((file, function), [])
            # If several wait, it is not known which one goes on.
            stack.append(waiting.pop() if len(waiting) == 1 else _Frame(file, function))
        elif kind == "RAISE":
            # An exception that comes out of a call is not a new one.
            if thread.last != "PY_UNWIND" and event.line is not None:
                self._see((EXCEPTION, file, function, event.line, event.name or "an exception"))
        elif stack and stack[-1].function == function and stack[-1].file == file:
            frame = stack.pop()
            if event.values_json:
                self._result(frame, YIELDED if kind == "PY_YIELD" else RETURNED, event)
            if kind == "PY_YIELD":
                thread.suspended.setdefault((file, function), []).append(frame)
            else:
                self._leave(frame)
        if not event.k and stack:
            stack[-1].pending.clear()
        thread.last = kind

    def _values_after(self, frame: _Frame) -> None:
        """The variables as the frame's last line has left them."""
        if frame.line is not None and frame.values and self.observer.has_lines:
            self.observer.see(frame.file, frame.function, RAN, frame.line, frame.values.values(), self.now)

    def _result(self, frame: _Frame, how: str, event) -> None:
        told = self.observer.read(event.values_json)
        frame.values.update((name, value) for name, value in told.items() if name)
        self._values_after(frame)
        if "" in told and event.line is not None:
            self.observer.see(frame.file, frame.function, how, event.line, (told[""],), self.now)

    def _line(self, thread: _Thread, frame: _Frame, line: int) -> None:
        file, function, before = frame.file, frame.function, frame.line
        self._see((LINE, file, line))
        self.found.functions.setdefault((file, line), function)
        if before is None:
            self.found.bodies.setdefault((file, function), line)
        else:
            self._see((GO, file, before, line))
        around = self.loops.get(file, {})
        for first, _ in around.get(before or 0, ()):
            number = frame.rounds.get(first, 0)
            if 0 < number <= ROUNDS:
                self._see((ROUND, file, function, first, number, before, line))
        for first, end in around.get(line, ()):
            if line == first:
                goes_on = before is not None and first <= before <= end
                frame.rounds[first] = frame.rounds.get(first, 0) + 1 if goes_on else 1
        if len(frame.order) < ORDERED:
            frame.order.setdefault(line, self.now)
        for key in frame.pending:
            self.found.next_lines.setdefault(key, {})[line] = None
        frame.line = line
        for other in self.threads:
            if other is not thread and other.stack and other.stack[-1].file == file and other.process == thread.process:
                other.meanwhile.setdefault((function, line), self.now)

    def _come_back(self, thread: _Thread) -> None:
        """Others ran lines of this file while the thread stood in the middle of a function of it."""
        frame = thread.stack[-1] if thread.stack else None
        at = frame and (frame.line or frame.start)
        if frame and at:
            frame.pending.clear()
            for (function, line), when in thread.meanwhile.items():
                key = (INTERLEAVING, frame.file, frame.function, at, function, line)
                self.found.first.setdefault(key, when)
                frame.pending.append(key)
        thread.meanwhile.clear()

    def _leave_all(self, thread: _Thread) -> None:
        for frame in (*thread.stack, thread.root, *(each for frames in thread.suspended.values() for each in frames)):
            self._leave(frame)
        thread.stack.clear()
        thread.suspended.clear()
        thread.meanwhile.clear()
        thread.root = _Frame("", "")

    def _leave(self, frame: _Frame) -> None:
        """Its orders are those of what ran first in it."""
        for kind, order in ((ORDER, frame.order), (CALL_ORDER, frame.callees)):
            key = tuple(order)
            known = self.orders.setdefault((kind, frame.file, frame.function), set())
            if len(order) < 2 or key in known or len(known) == ACTIVATIONS:
                continue
            known.add(key)
            for number, (later, when) in enumerate(order.items()):
                for earlier in key[:number]:
                    self._see((kind, frame.file, frame.function, earlier, later), when)

    def _see(self, key: Key, when: int | None = None) -> None:
        self.found.first.setdefault(key, self.now if when is None else when)

