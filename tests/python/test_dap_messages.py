# SPDX-License-Identifier: Apache-2.0
"""Whatever is sent to `kymo dap`, it answers, or says in a line why not."""
import io
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import KYMO, TIMEOUT, environment
from dap_client import PROGRAM, decode, encode, recorded, validate  # noqa: F401


def talk(data):
    """Send bytes to an adapter; (status, what it sent, stderr)."""
    done = subprocess.run([KYMO, "dap"], env=environment(), input=data, capture_output=True, timeout=TIMEOUT)
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.mark.parametrize("data, status, says", [
    (b"", 0, ""),
    (b"\r\n\r\n", 1, "a header without Content-Length"),
    (b"Content-Length: 5", 1, "in the middle of a header"),
    (b"Content-Length: 5\r\n\r\n{}", 1, "in the middle of a message"),
    (b"Content-Length: -5\r\n\r\n{}", 1, "Content-Length is not a number"),
    (b"Content-Length: 2x\r\n\r\n{}", 1, "Content-Length is not a number"),
    (b"Content-Length: 99999999999999999999999\r\n\r\n{}", 1, "a message of more than 16777216 bytes"),
    (b"Content-Length: 999999999\r\n\r\n{}", 1, "a message of more than 16777216 bytes"),
    (b"x" * 5000, 1, "malformed DAP header"),
    (b"Content-Length: 1\r\n\r\n{", 0, "malformed DAP message: "),
    (b"Content-Length: 2\r\n\r\n[]", 0, "it is not a JSON object"),
    (b"Content-Length: 0\r\n\r\n", 0, "malformed DAP message: "),
    (b"Content-Length: 3\r\n\r\n{\xff}", 0, "malformed DAP message: "),
    (b"Content-Length: 2\r\n\r\n{}", 0, "it is not a request"),
    (encode({"seq": 1, "type": "response", "command": "next"}), 0, "it is not a request"),
    (encode({"seq": "1", "type": "request", "command": "next"}), 0, "it is not a request"),
    (b"Content-Length: 100000\r\n\r\n" + b"[" * 100000, 0, "malformed DAP message: "),
    (b"content-length:2\r\nX-Other: y\r\n\r\n{}", 0, "it is not a request"),
])
def test_what_is_no_message_is_told_in_one_line(data, status, says):
    code, out, err = talk(data)
    assert (code, out) == (status, b"")
    assert says in err and err.count("\n") == bool(says)


COMMANDS = ["initialize", "launch", "attach", "configurationDone", "setBreakpoints", "setFunctionBreakpoints",
            "setExceptionBreakpoints", "setDataBreakpoints", "dataBreakpointInfo", "breakpointLocations", "threads", "stackTrace", "scopes", "variables", "exceptionInfo",
            "source", "loadedSources", "next", "stepIn", "stepOut", "stepBack", "continue", "reverseContinue", "pause",
            "gotoTargets", "goto", "evaluate", "terminate", "nonsense"]
WORDS = ["threadId", "frameId", "variablesReference", "source", "path", "sourceReference", "breakpoints", "line", "condition",
         "hitCondition", "logMessage", "name", "filters", "filterOptions", "filterId", "expression", "context", "targetId",
         "startFrame", "levels", "endLine", "start", "count", "filter", "dataId", "accessType"]
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
        st.tuples(st.just("setExceptionBreakpoints"), st.fixed_dictionaries({"filters": st.lists(st.sampled_from(["raised", "uncaught"]), max_size=2)})),
        st.tuples(st.just("gotoTargets"), st.fixed_dictionaries({"source": source, "line": line})),
        st.tuples(st.just("goto"), st.fixed_dictionaries({"threadId": st.just(1), "targetId": st.integers(1, 12)})),
        st.tuples(st.just("scopes"), st.fixed_dictionaries({"frameId": st.integers(1, 90)})),
        st.tuples(st.just("variables"), st.fixed_dictionaries({"variablesReference": st.integers(1, 90)}, optional={
            "start": st.integers(0, 2**31), "count": st.integers(0, 2**31), "filter": st.sampled_from(["named", "indexed"])})),
        st.tuples(st.just("dataBreakpointInfo"), st.fixed_dictionaries({"name": st.sampled_from(["i", "total", "self", "x", "n", "0"])}, optional={
            "frameId": st.integers(1, 30), "variablesReference": st.integers(1, 30)})),
        st.tuples(st.just("setDataBreakpoints"), st.fixed_dictionaries({"breakpoints": st.lists(
            st.fixed_dictionaries({"dataId": st.integers(1, 4).map(str)}), max_size=3)})),
        st.tuples(st.just("evaluate"), st.fixed_dictionaries({
            "expression": st.sampled_from(["total", "i", "n", "self.x", "x[0]", "x.", "x['a']", "args[-1]", "[" * 300, "x" + "[0]" * 300]),
            "frameId": st.integers(1, 30), "context": st.sampled_from(["watch", "hover", "clipboard", "repl"])})),
        st.tuples(st.just("source"), st.fixed_dictionaries({"sourceReference": st.integers(1, 9)})),
        st.tuples(st.just("evaluate"), st.fixed_dictionaries({
            "expression": place.map("goto {}".format) | st.sampled_from(["rs 3", "where", "threads", "thread 2", "list", "info", "c", "hits inner 2"]),
            "context": st.just("repl")})))


@pytest.fixture(scope="module")
def with_values(recorded, kymo):
    trace = recorded[1].with_name("values.kymo")
    kymo("record", "-q", "-o", trace, "--values=locals", "--values-for=program.py", "--", recorded[0])
    return trace


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_requests_are_answered(recorded, with_values, data):
    """Whatever a client asks, it gets one response to each request, by the schema, and in order."""
    program, trace = recorded
    trace = data.draw(st.sampled_from([trace, with_values]))
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
