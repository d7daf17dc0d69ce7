# SPDX-License-Identifier: Apache-2.0
"""Moves of `kymo dap`, its threads and places; what is expected comes from `kymo events`."""
import random
import re

import pytest

from dap_client import Failure, client, line_of, recorded  # noqa: F401


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
    with pytest.raises(Failure, match="unknown targetId"):
        client.goto(threadId=1, targetId=99)


def test_going_to_moments(record, importing, client, tmp_path):
    program = tmp_path / "marks.py"
    program.write_text("import kymo\nx = 1\nkymo.mark('half')\ny = 2\n")
    trace = record([program], env=importing)
    client.start(trace)
    for where in ["start", "end", "50%", "0s", "half"]:
        answer = client.evaluate(expression=f"goto {where}", context="repl")
        assert re.search(r"^> .*\(\d+\)\S+\(\)", answer["result"], re.M)
        client.stopped = client.event("stopped")
        assert client.stopped["reason"] == "goto"
    assert [frame["line"] for frame in client.frames() if frame["source"].get("path") == str(program)] == [3]
    with pytest.raises(Failure, match="'nowhere' is no"):
        client.evaluate(expression="goto nowhere", context="repl")
    assert client.evaluate(expression="depth")["result"] == str(len(client.frames()))
