# SPDX-License-Identifier: Apache-2.0
"""Breakpoints of `kymo dap`: lines, functions, exceptions, log points."""
import pytest

from dap_client import Failure, client, line_of, recorded  # noqa: F401


def test_breakpoints_are_met_in_both_directions(recorded, client):
    program, trace = recorded
    add = line_of("total += i")
    set_ = client.start(trace, {program: [add]})[program]
    assert [(point["verified"], point["line"]) for point in set_] == [(True, add)]
    backwards = []
    while client.go("reverseContinue") and client.stopped["reason"] == "breakpoint":
        assert client.stopped["hitBreakpointIds"] == [set_[0]["id"]]
        assert client.where() == ("inner", add)
        backwards.append(client.stopped["threadId"])
    assert backwards == [2] * 4 + [1] * 9
    forwards = []
    while client.go("continue") and client.stopped["reason"] == "breakpoint":
        forwards.append(client.stopped["threadId"])
    assert forwards == backwards[::-1]


def test_a_line_that_did_not_run_says_which_did(recorded, client):
    program, trace = recorded
    never, comment = line_of("return 1"), 2
    points = client.start(trace, {program: [never, comment]})[program]
    assert [point["verified"] for point in points] == [False, False]
    assert points[0]["message"] == f"line {never} has no code that ran; the nearest one that did is {never - 1}"
    assert points[1]["message"] == "line 2 has no code that ran; the nearest one that did is 1"
    client.go("reverseContinue")
    assert client.stopped["description"] == "start of the recording"
    point, = client.breakpoints("/nowhere/program.py", [1])
    assert not point["verified"] and point["message"].startswith("no code of this file was recorded")


def test_a_line_whose_function_ran_but_not_it(record, client, tmp_path):
    program = tmp_path / "branch.py"
    program.write_text("def f(x):\n    if x:\n        return 1\n    return 2\nf(0)\n")
    point, = client.start(record([program]), {program: [3]})[program]
    assert (point["verified"], point["message"]) == (False, "line 3 never ran; the nearest one that did is 2")


@pytest.mark.parametrize("hit_condition, expected", [
    ("2", [2]), ("==3", [3]), (">11", [12, 13]), (">=12", [12, 13]), ("<2", [1]), ("<=2", [1, 2]), ("%5", [5, 10]), ("% 6", [6, 12]),
])
def test_hit_counts(record, client, tmp_path, hit_condition, expected):
    program = tmp_path / "counts.py"
    program.write_text("for i in range(13):\n    x = i\n")
    log = {"line": 2, "hitCondition": hit_condition, "logMessage": "{hits}"}
    client.start(record([program]), {program: [{"line": 2, "hitCondition": hit_condition}]}, position="start")
    stops = 0
    while client.go("continue") and client.stopped["reason"] == "breakpoint":
        stops += 1
    assert stops == len(expected)
    while client.go("reverseContinue") and client.stopped["reason"] == "breakpoint":
        stops -= 1
    assert stops == 0
    client.breakpoints(program, [log])
    client.go("continue")
    client.breakpoints(program, [])


def test_log_points_print_in_order_and_do_not_stop(recorded, client):
    program, trace = recorded
    add = line_of("total += i")
    log = {"line": add, "logMessage": "{hits}: {function} of {caller} in {thread}"}
    client.start(trace, {program: [log]})
    client.go("reverseContinue")
    printed = outputs(client)
    assert client.stopped["description"] == "start of the recording"
    assert [event["output"] for event in printed] == [
        *[f"{hits}: inner of <module> in 1\n" for hits in range(1, 4)],
        *[f"{hits}: inner of generate in 1\n" for hits in range(4, 10)],
        *[f"{hits}: inner of Thread.run in 2\n" for hits in range(1, 5)],
    ]
    assert {(event["line"], event["source"]["path"]) for event in printed} == {(add, str(program))}
    client.go("continue")
    assert outputs(client) == printed


def outputs(client):
    """The output events since the last time, which the client has met on its way."""
    found = [event["body"] for event in client.passed if event["event"] == "output"]
    client.passed.clear()
    return found


def test_a_log_point_is_told_once_on_the_way_there_and_back(recorded, client):
    program, trace = recorded
    add = line_of("total += i")
    client.start(trace, {program: [add - 2, {"line": add, "logMessage": "add"}]}, position="start", stopOnEntry=False)
    assert client.where() == ("inner", add - 2)
    counts = []
    for command in ["next", "next", "next", "next", "stepBack", "stepBack", "stepBack", "stepBack"]:
        client.go(command)
        counts.append((client.where()[1] - add, len(outputs(client))))
    assert counts == [(-1, 0), (0, 1), (-1, 0), (0, 1), (-1, 0), (0, 1), (-1, 0), (-2, 0)]


def test_conditions(recorded, client):
    program, trace = recorded
    add = line_of("total += i")
    condition = {"line": add, "condition": "caller == 'generate' and hits > 7"}
    client.start(trace, {program: [condition]}, position="start", stopOnEntry=False)
    assert client.where() == ("inner", add)
    assert client.frames()[1]["name"] == "generate"
    client.go("continue")
    assert client.stopped["reason"] == "breakpoint"
    client.go("continue")
    assert client.stopped["description"] == "end of the recording"


@pytest.mark.parametrize("wrong, why", [
    ({"condition": "x > 3"}, "x was not recorded: the recording has no values"),
    ({"condition": "y > 3"}, "no variable y in what was recorded; known are variables, hits"),
    ({"hitCondition": "often"}, "hit count 'often': write 5, >5, >=5, <5, <=5 or %5"),
    ({"hitCondition": "%0"}, "hit count '%0'"),
    ({"logMessage": "y is {y}"}, "no variable y in what was recorded; known are variables, hits"),
])
def test_what_cannot_be_asked_for_is_refused(recorded, client, wrong, why):
    program, trace = recorded
    point, = client.start(trace, {program: [{"line": line_of("total += i")} | wrong]})[program]
    assert not point["verified"] and why in point["message"]


def test_function_breakpoints(recorded, client):
    program, trace = recorded
    client.start(trace, position="start")
    points = client.setFunctionBreakpoints(breakpoints=[{"name": "walk", "condition": "caller == '<module>'"},
                                                        {"name": "Walker.walk", "hitCondition": "3"}, {"name": "nobody"}])
    good, third, bad = points["breakpoints"]
    assert good["verified"] and good["line"] == line_of("def walk") and good["source"]["path"] == str(program)
    assert (bad["verified"], bad["message"]) == (False, "no function of this name was called")
    assert client.go("continue")[0] == "Walker.walk"
    assert (client.stopped["reason"], client.stopped["hitBreakpointIds"]) == ("function breakpoint", [good["id"]])
    client.go("continue")
    assert client.stopped["hitBreakpointIds"] == [third["id"]] and len(client.frames()) == 4


def test_exceptions(recorded, client):
    program, trace = recorded
    client.start(trace)
    client.setExceptionBreakpoints(filters=[], filterOptions=[{"filterId": "raised", "condition": "KeyError, ValueError"}])
    raised = line_of("raise ValueError")
    for _ in range(2):
        assert client.go("reverseContinue") == ("fail", raised)
        assert (client.stopped["reason"], client.stopped["text"]) == ("exception", "ValueError")
        info = client.exceptionInfo(threadId=1)
        assert (info["exceptionId"], info["breakMode"]) == ("ValueError", "always")
    client.setExceptionBreakpoints(filters=["raised"])
    client.go("continue")
    assert client.where() == ("fail", raised)
    client.setExceptionBreakpoints(filters=[], filterOptions=[{"filterId": "raised", "condition": "OSError"}])
    client.go("continue")
    assert client.stopped["description"] == "end of the recording"
    with pytest.raises(Failure, match="no exception is raised there"):
        client.exceptionInfo(threadId=1)


def test_uncaught_exceptions(record, client, tmp_path):
    program = tmp_path / "threads.py"
    program.write_text("import threading\n\ndef f(kind):\n    raise kind('x')\n\ndef caught():\n    try:\n        f(KeyError)\n"
                       "    except KeyError:\n        pass\n\nfor target in (caught, lambda: f(OSError)):\n"
                       "    thread = threading.Thread(target=target)\n    thread.start()\n    thread.join()\ncaught()\nf(ValueError)\n")
    client.start(record([program], status=1), position="start")
    filters = {one["filter"]: one for one in client.capabilities["exceptionBreakpointFilters"]}
    assert list(filters) == ["raised", "uncaught"] and filters["uncaught"]["default"]
    client.setExceptionBreakpoints(filters=["uncaught"])
    for thread, kind in [(3, "OSError"), (1, "ValueError")]:
        assert client.go("continue") == ("f", 4)
        assert (client.stopped["reason"], client.stopped["text"], client.stopped["threadId"]) == ("exception", kind, thread)
        info = client.exceptionInfo(threadId=thread)
        assert (info["exceptionId"], info["breakMode"]) == (kind, "unhandled")
    client.go("continue")
    assert client.stopped["description"] == "end of the recording"
    client.setExceptionBreakpoints(filters=[], filterOptions=[{"filterId": "uncaught", "condition": "KeyError OSError"}])
    assert client.go("reverseContinue") == ("f", 4) and client.stopped["text"] == "OSError"
    client.go("reverseContinue")
    assert client.stopped["description"] == "start of the recording"


def test_an_uncaught_exception_is_where_it_begins(record, client, tmp_path):
    program = tmp_path / "fails.py"
    program.write_text("def f():\n    raise OSError('x')\n\nf()\n")
    client.start(record([program], status=1))
    assert client.where() == ("f", 2)
    assert (client.stopped["reason"], client.stopped["text"]) == ("exception", "OSError")
    assert client.exceptionInfo(threadId=1)["exceptionId"] == "OSError"
