# SPDX-License-Identifier: Apache-2.0
"""A client of `kymo dap` that holds every message, both ways, against the protocol's JSON schema; and what tests record for it."""
import functools
import json
import socket
import subprocess

import pytest

from conftest import KYMO, ROOT, TIMEOUT, environment

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = ROOT / "tests" / "dap" / "debugAdapterProtocol.json"


@functools.cache
def validators():
    """By definition of the schema, e.g. "NextRequest"."""
    schema = json.loads(SCHEMA.read_text())
    kind = jsonschema.validators.validator_for(schema)
    return {name: kind({"$ref": f"#/definitions/{name}", "definitions": schema["definitions"]})
            for name in schema["definitions"]}


def validate(message):
    """Raise what is wrong with a message that goes either way."""
    kind = message["type"]
    if kind == "response" and not message["success"]:
        name = "ErrorResponse"
    else:
        word = message["event" if kind == "event" else "command"]
        name = word[0].upper() + word[1:] + kind.capitalize()
    validators()[name].validate(message)


def encode(message):
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def decode(file):
    """The next message of a binary file; None at its end."""
    headers = {}
    while (line := file.readline()) not in (b"\r\n", b""):
        name, value = line.decode("ascii").split(":")
        headers[name.lower()] = value.strip()
    if not headers:
        return None
    return json.loads(file.read(int(headers["content-length"])))


class Failure(Exception):
    """The adapter answered that it could not."""


class Client:
    """Requests are methods: client.stackTrace(threadId=1) returns the body of the response."""

    def __init__(self, *arguments, port=None, cwd=None):
        self.process = self.socket = None
        if port:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
            self.input = self.output = self.socket.makefile("rwb")
        else:
            self.process = subprocess.Popen([KYMO, "dap", *map(str, arguments)], env=environment(), cwd=cwd, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.input, self.output = self.process.stdin, self.process.stdout
        self.seq = 0
        self.events = []
        self.passed = []  # events that event() went past

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.socket:
            self.input.close()
            self.socket.close()
        else:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.stderr.close()
            self.process.wait(TIMEOUT)

    def __getattr__(self, command):
        return lambda **arguments: self.request(command, arguments)

    def receive(self):
        message = decode(self.output)
        assert message is not None, self.process.stderr.read() if self.process else "the server has gone"
        validate(message)
        return message

    def request(self, command, arguments):
        self.seq += 1
        message = {"seq": self.seq, "type": "request", "command": command, "arguments": arguments}
        validate(message)
        self.input.write(encode(message))
        self.input.flush()
        while (message := self.receive())["type"] == "event":
            self.events.append(message)
        assert (message["request_seq"], message["command"]) == (self.seq, command)
        if not message["success"]:
            raise Failure(message["message"], message["body"]["error"])
        return message.get("body")

    def event(self, name):
        """The body of the next event of this name, those before it being passed over."""
        while True:
            while self.events:
                event = self.events.pop(0)
                if event["event"] == name:
                    return event.get("body", {})
                self.passed.append(event)
            self.events.append(self.receive())

    def start(self, trace, breakpoints=None, functions=(), exceptions=(), **arguments):
        """Launch, set breakpoints — {path: [line or dict, …]} — and wait for the first stop."""
        self.capabilities = self.initialize(adapterID="kymo", clientID="test")
        self.launch(trace=str(trace), **arguments)
        self.event("initialized")
        set_ = {path: self.breakpoints(path, lines) for path, lines in (breakpoints or {}).items()}
        if functions:
            self.setFunctionBreakpoints(breakpoints=[{"name": name} for name in functions])
        self.setExceptionBreakpoints(filters=list(exceptions))
        self.configurationDone()
        self.stopped = self.event("stopped")
        return set_

    def breakpoints(self, path, lines):
        wanted = [{"line": line} if isinstance(line, int) else line for line in lines]
        return self.setBreakpoints(source={"path": str(path)}, breakpoints=wanted)["breakpoints"]

    def go(self, command, thread=None, **arguments):
        """Make a move and wait for where it ends; returns (function, line) there."""
        self.request(command, {"threadId": thread or self.stopped["threadId"]} | arguments)
        self.stopped = self.event("stopped")
        return self.where()

    def frames(self, thread=None, **arguments):
        return self.stackTrace(threadId=thread or self.stopped["threadId"], **arguments)["stackFrames"]

    def where(self):
        top = self.frames(levels=1)[0]
        return top["name"], top["line"]


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
