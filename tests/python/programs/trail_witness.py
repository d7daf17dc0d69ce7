# SPDX-License-Identifier: Apache-2.0
"""trail_witness.py OUTPUT PROGRAM: run a program and write, as JSON, its branches with their trails, lines and calls.

A recorder in a few lines, which shares nothing with the one under test: it counts each event, and `dis` follows the
trails.
"""
import collections
import dis
import json
import sys
import types

output, path = sys.argv[1:]
sys.argv = [path]
monitoring, events = sys.monitoring, sys.monitoring.events
BRANCHES = [getattr(events, name) for name in ("BRANCH", "BRANCH_LEFT", "BRANCH_RIGHT") if hasattr(events, name)]
if len(BRANCHES) == 3:
    del BRANCHES[0]
LEAVES = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
branches, lines, calls, layouts = collections.Counter(), collections.Counter(), collections.Counter(), {}


def trail(code, offset, destination):
    if code not in layouts:
        layouts[code] = list(dis.get_instructions(code)), {start: line for begin, end, line in code.co_lines()
                                                         for start in range(begin, end, 2)}
    instructions, line_at = layouts[code]
    position = {each.offset: number for number, each in enumerate(instructions)}
    followed, seen, is_exit = [], set(), False
    at = position.get(destination, len(instructions))
    while at < len(instructions) and at not in seen and not is_exit:
        seen.add(at)
        each = instructions[at]
        line = line_at.get(each.offset)
        if line is not None and followed[-1:] != [line]:
            followed.append(line)
        is_exit = each.opname in LEAVES
        if each.opname.startswith(("POP_JUMP", "FOR_ITER")):
            break
        is_jump = each.opname.startswith(("JUMP", "SEND"))
        at = position[each.argval] if is_jump else at + 1
    return line_at.get(offset) or 0, code.co_firstlineno, followed, is_exit


def counts(counter, key):
    def note(code, *where):
        if code.co_filename == path:
            counter[key(code, *where)] += 1
    return note


with open(path, "rb") as file:
    program = compile(file.read(), path, "exec", dont_inherit=True)
monitoring.use_tool_id(monitoring.PROFILER_ID, "witness")
for event in BRANCHES:
    monitoring.register_callback(monitoring.PROFILER_ID, event, counts(branches, lambda *way: way))
monitoring.register_callback(monitoring.PROFILER_ID, events.LINE, counts(lines, lambda code, line: line))
monitoring.register_callback(monitoring.PROFILER_ID, events.PY_START,
                             counts(calls, lambda code, _: (code.co_qualname, code.co_firstlineno)))
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
monitoring.set_events(monitoring.PROFILER_ID, sum(BRANCHES) | events.LINE | events.PY_START)
try:
    exec(program, vars(main))
finally:
    monitoring.set_events(monitoring.PROFILER_ID, 0)
    with open(output, "w") as file:
        json.dump({"branches": [[*trail(*way), hits] for way, hits in branches.items()],
                   "lines": list(lines.items()), "calls": [[*key, hits] for key, hits in calls.items()]}, file)
