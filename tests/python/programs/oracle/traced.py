# SPDX-License-Identifier: Apache-2.0
"""sys.settrace, sys.setprofile and another tool of sys.monitoring, active at the same time."""
import sys

monitoring = sys.monitoring
TOOL = 1
traced, profiled, monitored = [], [], []


def helper(n):
    return n + 1


def trace(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        traced.append((frame.f_code.co_name, event, helper(frame.f_lineno)))
        return trace


def profile(frame, event, argument):
    if frame.f_code.co_name != "<module>":
        profiled.append((frame.f_code.co_name, event))


def jump(frame, event, argument):
    if event == "line" and frame.f_lineno == frame.f_code.co_firstlineno + 2:
        frame.f_lineno += 1
    return jump


def work(n):
    total = 0
    for i in range(n):
        total += helper(i)
    try:
        raise KeyError(total)
    except KeyError:
        return [x for x in range(total)]


def jumps():
    first = 1
    first = 2
    return first


def started(code, offset):
    monitored.append((code.co_name, helper(0)))


def lined(code, line):
    monitored.append((code.co_name, line))
    return monitoring.DISABLE if line % 2 else None


sys.settrace(trace)
work(2)
sys.settrace(None)
sys.settrace(jump)
print(jumps())
sys.settrace(None)
sys.setprofile(profile)
work(3)
sys.setprofile(None)
monitoring.use_tool_id(TOOL, "other")
monitoring.register_callback(TOOL, monitoring.events.PY_START, started)
monitoring.register_callback(TOOL, monitoring.events.LINE, lined)
monitoring.set_events(TOOL, monitoring.events.PY_START)
monitoring.set_local_events(TOOL, work.__code__, monitoring.events.LINE)
work(2)
work(3)
monitoring.set_local_events(TOOL, work.__code__, 0)
monitoring.set_events(TOOL, 0)
work(1)
monitoring.register_callback(TOOL, monitoring.events.PY_START, None)
monitoring.register_callback(TOOL, monitoring.events.LINE, None)
monitoring.free_tool_id(TOOL)
print(traced, profiled, [each for each in monitored if each[0] == "work"], sep="\n")
