# SPDX-License-Identifier: Apache-2.0
"""Run a program and count its LINE and BRANCH events in Python: count_lines.py OUTPUT ROUNDS PROGRAM [ARGUMENTS]…

OUTPUT gets, as JSON, [line, times] and [line of the branch, first line of its code, trail, is exit, times], the trail
worked out by dis.  The lines are also told by what `count_lines.context` was when they ran.
"""
import collections
import dis
import json
import sys
import threading

EXITS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "SEND"}
monitoring = sys.monitoring
HAS_SIDES = sys.version_info >= (3, 14)

context = ""
lines = collections.Counter()
ways = collections.Counter()
by_context = collections.defaultdict(set)


class Context:
    """kymo.context, and what is counted here; no other thread of the program may run as one begins or ends."""

    def __init__(self, name):
        import kymo
        self.name, self.told = name, kymo.context(name)

    def __enter__(self):
        global context
        self.told.__enter__()
        context = self.name

    def __exit__(self, *error):
        global context
        self.told.__exit__(*error)
        context = ""


class Turns:
    """A thread that runs only while its maker waits for it."""

    def __init__(self):
        self.go, self.done = threading.Event(), threading.Event()
        self.is_over = False

    def hand_over(self):
        self.done.set()
        self.go.wait()
        self.go.clear()

    def wait(self):
        self.done.wait()
        self.done.clear()

    def give(self):
        self.go.set()
        self.wait()


class Instructions:
    """Those of a code object, each with the one behind it."""

    def __init__(self, code):
        listed = list(dis.get_instructions(code))
        self.at = {each.offset: each for each in listed}
        self.behind = {a.offset: b.offset for a, b in zip(listed, listed[1:])}
        self.first_line = code.co_firstlineno

    def name(self, offset):
        return self.at[offset].opname if offset in self.at else ""

    def line(self, offset):
        return self.at[offset].positions.lineno

    def is_branch(self, offset):
        name = self.name(offset)
        return name.startswith("POP_JUMP_IF") or name == "FOR_ITER" or (
            HAS_SIDES and name == "END_SEND" and self.name(self.behind.get(offset)) == "NOT_TAKEN")

    def trail(self, offset):
        found, seen = [], set()
        while offset not in seen:
            seen.add(offset)
            if (line := self.line(offset)) is not None and found[-1:] != [line]:
                found.append(line)
            if (name := self.name(offset)) in EXITS:
                return found, True
            if self.is_branch(offset):
                break
            offset = self.at[offset].argval if name in JUMPS else self.behind[offset]
        return found, False

    def source(self, kind, offset, dest):
        """The branch that an event tells, and where it goes; None: one that another event has told."""
        if kind == "BRANCH":
            if self.at[offset].argval != dest and self.name(offset) != "FOR_ITER":
                dest = self.behind[offset]
            return offset, dest
        if self.name(offset) == "CLEANUP_THROW":  # stands for the END_SEND of `async for` behind it
            offset = self.behind[offset]
        if kind == "BRANCH_LEFT":
            branches = [each for each in self.at if each < dest and self.is_branch(each)]
            return max(branches), dest
        loops = [each for each in self.at if self.name(each) == "FOR_ITER"
                 and self.behind[self.behind[self.at[each].argval]] == dest]
        if self.is_branch(offset) and self.name(offset).startswith("POP_JUMP"):
            return (offset, dest) if self.at[offset].argval == dest else None
        if self.is_branch(offset):
            return offset, dest
        return (loops[0], dest) if loops else None


def watch(path):
    def on_line(code, line):
        if code.co_filename == path:
            lines[line] += 1
            by_context[context].add(line)
            return None
        return monitoring.DISABLE

    def on_branch(kind):
        def branch(code, offset, dest):
            if code.co_filename != path:
                return monitoring.DISABLE
            ways[code, kind, offset, dest] += 1
            return None
        return branch

    tool = next(each for each in range(5, -1, -1) if monitoring.get_tool(each) is None)
    monitoring.use_tool_id(tool, "count_lines")
    kinds = ["BRANCH_LEFT", "BRANCH_RIGHT"] if HAS_SIDES else ["BRANCH"]
    monitoring.register_callback(tool, monitoring.events.LINE, on_line)
    for kind in kinds:
        monitoring.register_callback(tool, getattr(monitoring.events, kind), on_branch(kind))
    monitoring.set_events(tool, monitoring.events.LINE | sum(getattr(monitoring.events, kind) for kind in kinds))
    return tool


def branches():
    known, found = {}, collections.Counter()
    for (code, kind, offset, dest), times in ways.items():
        if code not in known:
            known[code] = Instructions(code)
        told = known[code].source(kind, offset, dest)
        if told and known[code].line(told[0]) is not None:
            trail, is_exit = known[code].trail(told[1])
            found[known[code].line(told[0]), code.co_firstlineno, tuple(trail), is_exit] += times
    return [[*way, times] for way, times in found.items()]


def main():
    output, rounds, path = sys.argv[1:4]
    del sys.argv[:3]
    sys.modules["count_lines"] = sys.modules["__main__"]
    with open(path) as file:
        code = compile(file.read(), path, "exec")
    tool = watch(path)
    try:
        for _ in range(int(rounds)):
            exec(code, {"__name__": "__main__", "__file__": path})
    finally:
        monitoring.set_events(tool, 0)
    with open(output, "w") as file:
        json.dump({"lines": sorted(lines.items()), "branches": branches(),
                   "contexts": {name: sorted(found) for name, found in by_context.items()}}, file)


main()
