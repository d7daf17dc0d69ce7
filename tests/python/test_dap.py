# SPDX-License-Identifier: Apache-2.0
"""`kymo dap`, as editors use it; what is expected comes from `kymo events`."""
import io
import json
import random
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import KYMO, ROOT, TIMEOUT, environment

pytest.importorskip("jsonschema")
from dap_client import Client, Failure, decode, encode, validate  # noqa: E402

CLIENT = "@vscode/debugadapter-testsupport@1.68.0"

PROGRAM = """\
import threading

def inner(n):
    total = 0
    for i in range(n):
        total += i
    return total

def generate(n):
    for i in range(n):
        yield inner(i)

def fail(x):
    try:
        raise ValueError(x)
    except ValueError:
        return x

class Walker:
    def walk(self, depth):
        if depth:
            return self.walk(depth - 1)
        return 0

def never():
    return 1  # not called

first = inner(3)
second = sum(generate(4))
fail(1)
fail(2)
thread = threading.Thread(target=inner, args=(4,))
thread.start()
thread.join()
Walker().walk(5)
last = 1
"""


def line_of(text, program=PROGRAM):
    return next(number for number, line in enumerate(program.splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def recorded(kymo, tmp_path_factory):
    """(program, trace)"""
    folder = tmp_path_factory.mktemp("dap")
    program, trace = folder / "program.py", folder / "program.kymo"
    program.write_text(PROGRAM)
    kymo("record", "-q", "-o", trace, "--", program)
    return program, trace


@pytest.fixture
def client():
    with Client() as connected:
        yield connected


class Model:
    """The LINE events of a thread with their frames, and where each move leads, by `kymo events` alone."""

    def __init__(self, events):
        self.events, self.frames, self.depths = events, [], []
        depth = lowest = 0
        for event in events:
            if event["event"] in ENTERS:
                depth += 1
            elif event["event"] in LEAVES:
                depth -= 1
                lowest = min(lowest, depth)
        serial = 0  # of frames; those that were there before the first event have negative ones
        stack = [-number for number in range(1, 1 - lowest)]
        self.callers = {frame: stack[at - 1] if at else None for at, frame in enumerate(stack)}
        for event in events:
            if event["event"] in ENTERS:
                serial += 1
                self.callers[serial] = stack[-1] if stack else None
                stack.append(serial)
            self.frames.append(stack[-1] if stack else None)
            self.depths.append(len(stack))
            if event["event"] in LEAVES:
                stack.pop()

    def is_line(self, at):
        return self.events[at]["event"] == "LINE"

    def where(self, at):
        return self.events[at]["function"], self.events[at]["line"] or 1  # modules are entered at line 0

    def find_line(self, places):
        return next((at for at in places if self.is_line(at)), None)

    def next(self, at):
        depth = self.depths[at]
        if self.events[at]["event"] in LEAVES and depth > 1:
            depth -= 1
        for other in range(at + 1, len(self.events)):
            if self.is_line(other) and self.depths[other] <= depth:
                return other
            if self.events[other]["event"] in LEAVES and self.depths[other] <= depth:
                depth = max(self.depths[other] - 1, 1)
        return len(self.events) - 1

    def stepIn(self, at):
        found = self.find_line(range(at + 1, len(self.events)))
        return len(self.events) - 1 if found is None else found

    def stepOut(self, at):
        left = next(other for other in range(at, len(self.events))
                    if self.events[other]["event"] in LEAVES and self.frames[other] == self.frames[at])
        return self.next(left)

    def stepBack(self, at):
        frame = self.frames[at]
        while frame is not None:
            for other in range(at - 1, -1, -1):
                if self.is_line(other) and self.frames[other] == frame:
                    return other
            frame = self.callers[frame]
        found = next((other for other in range(at - 1, -1, -1) if self.is_line(other) and self.depths[other] == 1), None)
        return 0 if found is None else found


ENTERS = {"PY_START", "PY_RESUME", "PY_THROW"}
LEAVES = {"PY_RETURN", "PY_YIELD", "PY_UNWIND"}


@pytest.fixture(scope="module")
def model(recorded, events):
    """Of the main thread."""
    read = events(recorded[1])
    return Model([event for event in read if event["tid"] == read[0]["tid"]])


def test_it_stops_at_the_end_and_goes_back_by_the_lines_of_the_frame(recorded, client, model):
    client.start(recorded[1])
    assert client.stopped["reason"] == "entry" and client.stopped["allThreadsStopped"]
    at = max(at for at, event in enumerate(model.events)
             if event["event"] == "PY_RETURN" and event["function"] == "<module>")
    assert client.where() == model.where(at)
    for _ in range(40):
        at = model.stepBack(at)
        assert client.go("stepBack") == model.where(at)


def test_the_lines_of_one_call_come_back_in_reverse(recorded, client, model):
    program, trace = recorded
    client.start(trace, {program: [line_of("return total")]}, stopOnEntry=False)  # the last call of inner(), by the thread
    assert client.stopped["reason"] == "breakpoint" and client.stopped["threadId"] == 2
    lines = [client.where()[1]]
    client.breakpoints(program, [])
    while client.go("stepBack")[0] == "inner":
        lines.append(client.where()[1])
    loop, add = line_of("for i in range(n)"), line_of("total += i")
    assert lines == [add + 1, loop, *[add, loop] * 4, loop - 1]


def test_any_moves_lead_where_the_events_say(recorded, client, model):
    """A walk of 400 moves, and the whole run step by step."""
    client.start(recorded[1], position="start")
    at, moves = 0, random.Random(1)
    for _ in range(400):
        command = moves.choice(["stepIn", "stepIn", "stepIn", "next", "next", "stepOut", "stepBack", "stepBack"])
        if command == "stepOut" and model.frames[at] is None:
            continue
        at = getattr(model, command)(at)
        assert client.go(command) == model.where(at), command
        if at == len(model.events) - 1:
            at = 0
            client.evaluate(expression="goto start", context="repl")
            client.stopped = client.event("stopped")


def test_stepping_in_stops_at_every_line(recorded, client, model):
    client.start(recorded[1], position="start")
    met = []
    while client.go("stepIn") and "description" not in client.stopped:
        met.append(client.where())
    assert client.stopped["description"] == "end of the recording"
    assert met == [model.where(at) for at in range(len(model.events)) if model.is_line(at)]


def test_the_ends_are_told(recorded, client):
    client.start(recorded[1])
    client.go("continue")
    assert client.stopped["description"] == "end of the recording"
    client.go("reverseContinue")
    assert client.stopped["description"] == "start of the recording"


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
    ({"condition": "x > 3"}, "no such column: x; known are hits"),
    ({"hitCondition": "often"}, "hit count 'often': write 5, >5, >=5, <5, <=5 or %5"),
    ({"hitCondition": "%0"}, "hit count '%0'"),
    ({"logMessage": "x is {x}"}, "no such column: x; known are hits"),
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


def test_an_uncaught_exception_is_where_it_begins(record, client, tmp_path):
    program = tmp_path / "fails.py"
    program.write_text("def f():\n    raise OSError('x')\n\nf()\n")
    client.start(record([program], status=1))
    assert client.where() == ("f", 2)
    assert (client.stopped["reason"], client.stopped["text"]) == ("exception", "OSError")
    assert client.exceptionInfo(threadId=1)["exceptionId"] == "OSError"


def test_threads(recorded, client, events):
    client.start(recorded[1])
    pid = events(recorded[1], "--limit=1")[0]["pid"]
    assert client.threads()["threads"] == [{"id": 1, "name": f"MainThread (pid {pid})"},
                                           {"id": 2, "name": f"Thread-1 (inner) (pid {pid})"}]
    assert client.frames(2) == []  # it has ended
    client.breakpoints(recorded[0], [line_of("total += i")])
    client.go("reverseContinue")
    assert [frame["name"] for frame in client.frames(2)][0] == "inner"
    main = client.frames(1)
    assert main[-1]["name"] == "<module>" and main[-1]["line"] in (line_of("thread.start()"), line_of("thread.join()"))
    client.breakpoints(recorded[0], [])
    client.go("stepBack", thread=1)
    assert client.stopped["threadId"] == 1
    client.evaluate(expression="goto start", context="repl")
    client.event("stopped")
    assert client.frames(2) == []
    with pytest.raises(Failure, match="this thread has not begun here"):
        client.next(threadId=2)


def test_processes(record, client, tmp_path):
    program = tmp_path / "forks.py"
    program.write_text("import os\n\ndef child():\n    return 1\n\ntakes_time = sum(range(10**7))\npid = os.fork()\n"
                       "if not pid:\n    child()\n    os._exit(0)\nos.waitpid(pid, 0)\ntakes_time = sum(range(10**7))\n")
    client.start(record([program]), {program: [4]})
    threads = client.threads()["threads"]
    assert len({thread["name"] for thread in threads}) == 2
    assert client.go("reverseContinue") == ("child", 4)
    assert client.stopped["threadId"] == 2
    assert [frame["name"] for frame in client.frames()] == ["child", "<module>"]
    # Between processes, time is no better than its error bounds.
    assert client.frames(1)[-1]["name"] == "<module>"


def test_what_is_missing_is_told(record, client, tmp_path):
    program = tmp_path / "long.py"
    program.write_text("def f(n):\n    for k in range(n):\n        k += 1\n\nfor n in range(400):\n    f(100)\n")
    client.start(record([program], "--policy=overwrite", "--events=full", "--ring-size=8K"), position="start")
    frame, = client.frames()
    assert frame["presentationHint"] == "label"
    missing = frame["name"]
    assert missing.startswith("not recorded: ") and missing.endswith(" events lost (overwritten)")
    assert client.scopes(frameId=frame["id"])["scopes"] == []
    client.go("stepIn")
    assert "description" not in client.stopped and "source" in client.frames()[0]
    while "description" not in client.stopped:
        client.go("stepBack")
    assert (client.stopped["description"], client.frames()[0]["name"]) == (missing, missing)
    client.go("stepBack")
    assert client.stopped["description"] == "start of the recording"


def test_deep_stacks_come_in_pages(record, client, tmp_path):
    program = tmp_path / "deep.py"
    program.write_text("import sys\nsys.setrecursionlimit(5000)\n\ndef deep(n):\n    if n:\n        return deep(n - 1)\n"
                       "    return 0\n\ndeep(3000)\n")
    client.start(record([program]), {program: [7]}, stopOnEntry=False)
    whole = client.stackTrace(threadId=1)
    frames = whole["stackFrames"]
    assert (len(frames), whole["totalFrames"]) == (3002, 3002)
    assert [frame["line"] for frame in frames] == [7] + [6] * 3000 + [9]
    assert len({frame["id"] for frame in frames}) == 3002
    page = client.stackTrace(threadId=1, startFrame=2990, levels=20)
    assert page == {"stackFrames": frames[2990:], "totalFrames": 3002}
    assert client.stackTrace(threadId=1, startFrame=5000, levels=20)["stackFrames"] == []
    scope, = client.scopes(frameId=frames[1500]["id"])["scopes"]
    variables = client.variables(variablesReference=scope["variablesReference"])["variables"]
    assert [(variable["name"], variable["value"]) for variable in variables] == [("n", "not recorded")]
    client.go("next")
    with pytest.raises(Failure, match="no such frame"):
        client.scopes(frameId=frames[0]["id"])


def test_going_to_a_line(recorded, client):
    program, trace = recorded
    client.start(trace, {program: [line_of("fail(1)")]}, stopOnEntry=False)
    add = line_of("total += i")
    targets = client.gotoTargets(source={"path": str(program)}, line=add)["targets"]
    assert [target["label"].split(",")[0] for target in targets] == \
        ["the time before", "the next time", "the first time", "the last time"]
    threads = []
    for target in targets:
        assert client.go("goto", targetId=target["id"]) == ("inner", add)
        assert client.stopped["reason"] == "goto"
        threads.append(client.stopped["threadId"])
    assert threads == [1, 2, 1, 2]
    with pytest.raises(Failure, match="there is no such target"):
        client.goto(threadId=1, targetId=99)


def test_going_to_moments(record, importing, client, tmp_path):
    program = tmp_path / "marks.py"
    program.write_text("import kymo\nx = 1\nkymo.mark('half')\ny = 2\n")
    trace = record([program], env=importing)
    client.start(trace)
    for where in ["start", "end", "50%", "0s", "half"]:
        answer = client.evaluate(expression=f"goto {where}", context="repl")
        assert answer["result"].startswith("at ")
        client.stopped = client.event("stopped")
        assert client.stopped["reason"] == "goto"
    assert [frame["line"] for frame in client.frames() if frame["source"].get("path") == str(program)] == [3]
    with pytest.raises(Failure, match="'nowhere' is no"):
        client.evaluate(expression="goto nowhere", context="repl")
    assert client.evaluate(expression="depth")["result"] == str(len(client.frames()))
    with pytest.raises(Failure, match="values of variables are not recorded"):
        client.evaluate(expression="x", context="watch")


def test_positions(recorded, kymo):
    _, trace = recorded
    for position in ["start", "end", 0, 0.05, "30%"]:
        with Client() as client:
            client.start(trace, position=position)
            assert client.stopped["reason"] == "entry"
    with Client() as client:
        client.initialize(adapterID="kymo")
        for position in [[], "never", {}]:
            with pytest.raises(Failure):
                client.launch(trace=str(trace), position=position)
        client.launch(trace=str(trace))


def test_pause_and_the_end_of_a_session(recorded, client):
    client.start(recorded[1])
    client.go("pause")
    assert client.stopped["reason"] == "pause"
    client.terminate()
    client.event("terminated")
    client.disconnect()
    assert decode(client.output) is None and client.process.wait(TIMEOUT) == 0


def test_the_order_of_requests(recorded, client):
    with pytest.raises(Failure, match="threads: no trace is open; launch comes first"):
        client.threads()
    with pytest.raises(Failure, match="initialize comes first"):
        client.launch(trace=str(recorded[1]))
    capabilities = client.initialize(adapterID="kymo")
    assert capabilities["supportsStepBack"] and capabilities["supportsLogPoints"]
    with pytest.raises(Failure, match="done already"):
        client.initialize(adapterID="kymo")
    with pytest.raises(Failure, match="no trace is named"):
        client.launch()
    with pytest.raises(Failure, match="No such file"):
        client.launch(trace="/nowhere.kymo")
    client.launch(trace=str(recorded[1]))
    with pytest.raises(Failure, match="done already"):
        client.attach(trace=str(recorded[1]))
    with pytest.raises(Failure, match="there is no request 'restart'"):
        client.restart()


def test_lines_that_begin_at_zero(recorded, client):
    program, trace = recorded
    client.initialize(adapterID="kymo", linesStartAt1=False, columnsStartAt1=False)
    client.launch(trace=str(trace), stopOnEntry=False)
    add = line_of("total += i")
    client.breakpoints(program, [add - 1])
    client.configurationDone()
    client.stopped = client.event("stopped")
    assert client.where() == ("inner", add - 1)
    assert client.frames()[0]["column"] == 0
    found = client.breakpointLocations(source={"path": str(program)}, line=add - 3, endLine=add)["breakpoints"]
    assert [place["line"] for place in found] == [add - 3, add - 2, add - 1, add]


def test_recorded_text_is_shown_unless_the_file_still_has_it(recorded, client, tmp_path, kymo):
    program = tmp_path / "changes.py"
    program.write_text("x = 1\ny = 2\n")
    trace = tmp_path / "changes.kymo"
    kymo("record", "-q", "-o", trace, "--", program)

    def source(**arguments):
        with Client() as other:
            other.start(trace, **arguments)
            listed = [one for one in other.loadedSources()["sources"] if one.get("path") == str(program)]
            assert len(listed) == 1
            if "sourceReference" in listed[0]:
                reference = listed[0]["sourceReference"]
                text = other.source(source=listed[0], sourceReference=reference)["content"]
                assert text == "x = 1\ny = 2\n"
                point, = other.setBreakpoints(source=listed[0], breakpoints=[{"line": 2}])["breakpoints"]
                assert point["verified"]
                return text
            return None

    assert source() is not None  # a path that only the trace names is not looked at
    assert source(sourceRoot=str(tmp_path)) is None
    assert source(sourceRoot=f"{tmp_path}/x/../") is None
    with Client("--source-root=.", trace, cwd=tmp_path) as other:
        other.initialize(adapterID="kymo")
        other.launch()
        assert {"name": program.name, "path": str(program)} in other.loadedSources()["sources"]
    assert source(breakpoints={program: [1]}) is None
    program.write_text("changed = 1\n")
    assert source(sourceRoot=str(tmp_path)) is not None
    program.unlink()
    assert source(sourceRoot=str(tmp_path)) is not None


def test_files_that_were_moved_are_found_below_the_source_root(recorded, client, tmp_path):
    program, trace = recorded
    moved = tmp_path / program.parent.name / program.name
    moved.parent.mkdir()
    moved.write_text(PROGRAM)
    add = line_of("total += i")
    points = client.start(trace, {moved: [add]}, sourceRoot=str(tmp_path), stopOnEntry=False)[moved]
    assert points[0]["verified"]
    assert client.frames()[0]["source"] == {"name": program.name, "path": str(moved)}


def test_a_session_of_microsofts_client(recorded, build):
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("there is no node or no npm")
    modules = build / "dap-client"
    if not (modules / "node_modules").exists():
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", modules, CLIENT], capture_output=True,
                              text=True, timeout=TIMEOUT)
        if done.returncode:
            pytest.skip(f"npm cannot install {CLIENT}: {done.stderr.strip().splitlines()[-1]}")
    program, trace = recorded
    facts = trace.with_suffix(".facts")
    texts = {"last": "last = 1", "before": "Walker().walk", "add": "total += i", "fail": "fail(1)", "try": "try:"}
    lines = {name: line_of(text) for name, text in texts.items()}
    facts.write_text(json.dumps({"kymo": str(KYMO), "modules": str(modules), "trace": str(trace), "program": str(program),
                                 "folder": str(program.parent), "lines": lines}))
    done = subprocess.run(["node", ROOT / "tests" / "dap" / "session.js", facts], env=environment(), capture_output=True,
                          text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    messages = [json.loads(line) for line in facts.with_suffix(".facts.log").read_text().splitlines()]
    assert len(messages) > 30
    for message in messages:
        validate(message)


@pytest.fixture
def server(build):
    """server(*options): a process that listens, and its port."""
    started = []

    def start(*options):
        process = subprocess.Popen([KYMO, "dap", "--port=0", *map(str, options)], env=environment(), text=True,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        started.append(process)
        host, port = process.stderr.readline().removeprefix("listening on ").rsplit(":", 1)
        assert host == "127.0.0.1"
        return process, int(port)
    yield start
    for process in started:
        process.kill()
        process.stderr.close()
        process.wait()


def test_clients_come_one_after_the_other(recorded, server):
    process, port = server(recorded[1])
    for _ in range(3):
        with Client(port=port) as client:
            client.initialize(adapterID="kymo")
            client.launch()
            client.configurationDone()
            client.stopped = client.event("stopped")
            client.go("stepBack")
    with Client(port=port) as client:
        client.output.write(b"GET / HTTP/1.1\r\n\r\n")
        client.output.flush()
        assert client.output.read() == b""
    assert process.stderr.readline() == "kymo: the client sent a header without Content-Length\n"
    with Client(port=port) as client:
        client.initialize(adapterID="kymo")
    assert process.poll() is None


def test_one_client_is_enough(recorded, server):
    process, port = server("--once")
    with Client(port=port) as client:
        client.start(recorded[1])
        client.disconnect()
    assert process.wait(TIMEOUT) == 0


def talk(data):
    """Send bytes to an adapter; (status, what it sent, stderr)."""
    done = subprocess.run([KYMO, "dap"], env=environment(), input=data, capture_output=True, timeout=TIMEOUT)
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.mark.parametrize("data, status, says", [
    (b"", 0, ""),
    (b"\r\n\r\n", 1, "a header without Content-Length"),
    (b"Content-Length: 5", 1, "in the middle of a header"),
    (b"Content-Length: 5\r\n\r\n{}", 1, "in the middle of a message"),
    (b"Content-Length: -5\r\n\r\n{}", 1, "a Content-Length that is no number"),
    (b"Content-Length: 2x\r\n\r\n{}", 1, "a Content-Length that is no number"),
    (b"Content-Length: 99999999999999999999999\r\n\r\n{}", 1, "a message of more than 16777216 bytes"),
    (b"Content-Length: 999999999\r\n\r\n{}", 1, "a message of more than 16777216 bytes"),
    (b"x" * 5000, 1, "what is no header"),
    (b"Content-Length: 1\r\n\r\n{", 0, "what is no JSON"),
    (b"Content-Length: 2\r\n\r\n[]", 0, "JSON that is no object"),
    (b"Content-Length: 0\r\n\r\n", 0, "what is no JSON"),
    (b"Content-Length: 3\r\n\r\n{\xff}", 0, "what is no JSON"),
    (b"Content-Length: 2\r\n\r\n{}", 0, "what is no request"),
    (encode({"seq": 1, "type": "response", "command": "next"}), 0, "what is no request"),
    (encode({"seq": "1", "type": "request", "command": "next"}), 0, "what is no request"),
    (b"Content-Length: 100000\r\n\r\n" + b"[" * 100000, 0, "what is no JSON"),
    (b"content-length:2\r\nX-Other: y\r\n\r\n{}", 0, "what is no request"),
])
def test_what_is_no_message_is_told_in_one_line(data, status, says):
    code, out, err = talk(data)
    assert (code, out) == (status, b"")
    assert says in err and err.count("\n") == bool(says)


COMMANDS = ["initialize", "launch", "attach", "configurationDone", "setBreakpoints", "setFunctionBreakpoints",
            "setExceptionBreakpoints", "breakpointLocations", "threads", "stackTrace", "scopes", "variables", "exceptionInfo",
            "source", "loadedSources", "next", "stepIn", "stepOut", "stepBack", "continue", "reverseContinue", "pause",
            "gotoTargets", "goto", "evaluate", "terminate", "nonsense"]
WORDS = ["threadId", "frameId", "variablesReference", "source", "path", "sourceReference", "breakpoints", "line", "condition",
         "hitCondition", "logMessage", "name", "filters", "filterOptions", "filterId", "expression", "context", "targetId",
         "startFrame", "levels", "endLine"]
SCALARS = st.none() | st.booleans() | st.integers(-3, 40) | st.integers(-2**63, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | \
    st.sampled_from(["", "repl", "raised", "goto 50%", "goto nan%", "goto -1s", "walk", "%3", "{depth}", "{", "depth > 1", "\ud7ff", "'"]) | st.text(max_size=8)


def values(program):
    leaves = SCALARS | st.just(str(program))
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
                        max_leaves=12)


def sensible(program):
    """Requests as clients make them: (command, arguments)."""
    thread = st.fixed_dictionaries({"threadId": st.integers(1, 2)})
    source = st.just({"path": str(program)}) | st.fixed_dictionaries({"sourceReference": st.integers(0, 9)})
    line = st.integers(1, len(PROGRAM.splitlines()) + 1)
    point = st.fixed_dictionaries({"line": line}, optional={
        "condition": st.sampled_from(["hits % 2", "caller = 'generate'", "depth > 3", "thread = 2", "x"]),
        "hitCondition": st.sampled_from(["2", ">3", "%2", "x"]), "logMessage": st.sampled_from(["at", "{hits}: {function}", "{x}"])})
    function = st.fixed_dictionaries({"name": st.sampled_from(["inner", "walk", "generate", "x"])})
    place = st.sampled_from(["start", "end", "20%", "70%", "0.01s", "#50"])
    return st.one_of(
        st.tuples(st.sampled_from(["next", "stepIn", "stepOut", "stepBack", "continue", "reverseContinue", "pause", "stackTrace",
                                   "exceptionInfo"]), thread),
        st.tuples(st.just("stackTrace"), st.fixed_dictionaries({"threadId": st.integers(1, 2), "startFrame": st.integers(0, 9),
                                                                "levels": st.integers(0, 9)})),
        st.tuples(st.just("setBreakpoints"), st.fixed_dictionaries({"source": source, "breakpoints": st.lists(point, max_size=4)})),
        st.tuples(st.just("setFunctionBreakpoints"), st.fixed_dictionaries({"breakpoints": st.lists(function, max_size=2)})),
        st.tuples(st.just("setExceptionBreakpoints"), st.fixed_dictionaries({"filters": st.just([]) | st.just(["raised"])})),
        st.tuples(st.just("gotoTargets"), st.fixed_dictionaries({"source": source, "line": line})),
        st.tuples(st.just("goto"), st.fixed_dictionaries({"threadId": st.just(1), "targetId": st.integers(1, 12)})),
        st.tuples(st.just("scopes"), st.fixed_dictionaries({"frameId": st.integers(1, 90)})),
        st.tuples(st.just("variables"), st.fixed_dictionaries({"variablesReference": st.integers(1, 90)})),
        st.tuples(st.just("source"), st.fixed_dictionaries({"sourceReference": st.integers(1, 9)})),
        st.tuples(st.just("evaluate"), st.fixed_dictionaries({"expression": place.map("goto {}".format), "context": st.just("repl")})))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_requests_are_answered(recorded, data):
    """Whatever a client asks, it gets one response to each request, by the schema, and in order."""
    program, trace = recorded
    inner = st.dictionaries(st.sampled_from(WORDS), values(program), max_size=6)
    nonsense = st.tuples(st.sampled_from(COMMANDS), inner | SCALARS)
    asked = data.draw(st.lists(sensible(program) | nonsense, min_size=1, max_size=25))
    first = [("initialize", {"adapterID": "kymo"}), ("launch", {"trace": str(trace)}), ("configurationDone", {})]
    requests = [{"seq": seq, "type": "request", "command": command, "arguments": arguments}
                for seq, (command, arguments) in enumerate(first + asked, 1)]
    code, out, err = talk(b"".join(map(encode, requests)))
    assert (code, err) == (0, "")
    responses = []
    file = io.BytesIO(out)
    while (message := decode(file)) is not None:
        if message["type"] == "event" or message["command"] != "nonsense":
            validate(message)
        if message["type"] == "response":
            responses.append(message["request_seq"])
    assert responses == [request["seq"] for request in requests]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda body: b"Content-Length: %d\r\n\r\n%s" % (len(body), body)))
def test_any_bytes_end_in_a_line(data):
    code, out, err = talk(data)
    assert code in (0, 1) and out == b""
    assert code == 0 or err.count("\n") >= 1
