# SPDX-License-Identifier: Apache-2.0
"""Sessions of `kymo dap`, from the first message to the last, and what is shown of the run."""
import json
import shutil
import subprocess

import pytest

from conftest import KYMO, ROOT, TIMEOUT, environment
from dap_client import PROGRAM, Client, Failure, client, decode, line_of, recorded, validate  # noqa: F401

CLIENT = "@vscode/debugadapter-testsupport@1.68.0"


def test_what_is_typed_and_pointed_at(recorded, client):
    program, trace = recorded
    add = line_of("total += i")
    client.start(trace, {program: [add]}, position="start", stopOnEntry=False)
    frame = client.frames()[0]["id"]

    def ask(expression, context):
        return client.evaluate(expression=expression, context=context, frameId=frame)["result"]

    assert {ask(expression, "hover") for expression in ("total", "threading", "line", "x y")} == {"not recorded"}
    assert {ask(expression, "watch") for expression in ("total", "n", "stock", "x + ", "hits")} == {"not recorded"}
    assert (ask("line", "watch"), ask("caller", "watch"), ask("depth > 1", "repl")) == (str(add), "<module>", "True")
    assert client.events == []  # it stands where it stood
    assert ask("where", "repl").splitlines()[-2:] == [f"> {program}({add})inner()", "-> total += i"]
    assert ask("hits inner", "repl").startswith("called 6 in all, of them 5 in ")
    assert "reverse-continue" in ask("help", "repl") and "break" not in ask("help", "repl").split()
    assert ask("rs", "repl").splitlines()[-1] == "-> for i in range(n):"
    client.stopped = client.event("stopped")
    assert (client.stopped["reason"], client.where()) == ("goto", ("inner", add - 1))
    assert ask("continue", "repl").splitlines()[-1] == "-> total += i"
    client.stopped = client.event("stopped")
    assert client.stopped["reason"] == "breakpoint"
    frame = client.frames()[0]["id"]
    for typed, why in [("total", "'total': values of variables are not recorded, and a command it is not"), ("step x", "'x' is not a number"),
                       ("break 3", "break: the editor does that itself"), ("quit", "quit: the editor does that"), ("", "values of variables"),
                       ("hits nobody 9", "no hit 9")]:
        with pytest.raises(Failure, match=why) as failure:
            ask(typed, "repl")
        assert not failure.value.args[1]["showUser"]  # it is answered in the console
    assert client.events == []
    with pytest.raises(Failure) as failure:
        client.goto(threadId=1, targetId=99)
    assert failure.value.args[1]["showUser"]


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
    with pytest.raises(Failure, match="unknown request 'restart'"):
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
    with pytest.raises(Failure, match="unknown frameId") as late:
        client.scopes(frameId=frames[0]["id"])
    assert not late.value.args[1]["showUser"]  # clients ask when they do not know yet that it stands elsewhere


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
