# SPDX-License-Identifier: Apache-2.0
"""Lines rebuilt from `flow` where frames come, go or move without an event: greenlets, subinterpreters, debuggers' jumps."""
import subprocess
import textwrap

import pytest

from conftest import ROOT, TIMEOUT, environment
from flow_observed import observe, without_ends  # noqa: F401
from flow_oracle import EVENTS
from streams import first_difference, shape, without_offsets


@pytest.fixture
def compare_pieces(observe, record, events, tmp_path):
    """compare_pieces(text): between two UNKNOWNs is what a tool saw, event for event, and nothing is missing elsewhere."""
    def run(text, *options):
        seen = without_offsets(map(tuple, observe(text)))
        pieces = [[]]
        for event in without_ends(events(record([tmp_path / "program.py"], "--events=flow", "--include=program.py", *options))):
            if event["event"] == "UNKNOWN":
                pieces.append([])
            elif event["event"] in EVENTS:
                pieces[-1] += without_offsets([shape(event)])
        # Pieces of what the tool could not see are in the way of no others.
        pieces = [piece for piece in pieces if not piece or not piece[0][1].endswith("inner/program.py")]
        at, last = 0, len(seen) - len(pieces[-1])
        for piece in pieces:
            found = (i for i in range(at, len(seen)) if seen[i:i + len(piece)] == piece)
            start = 0 if piece is pieces[0] else last if piece is pieces[-1] else next(found, at)
            assert start >= at and seen[start:start + len(piece)] == piece, f"after {at}: {first_difference(piece, seen[at:])}"
            at = start + len(piece)
        return seen, pieces
    return run


def test_greenlets_are_never_guessed(compare_pieces):
    """They leave a stack without an event: what ran there since the last one is unknown, the rest is right."""
    pytest.importorskip("greenlet")
    seen, pieces = compare_pieces((ROOT / "tests" / "python" / "programs" / "greenlets.py").read_text())
    assert len(pieces) > 1


def test_greenlets_that_run_while_another_waits(compare_pieces):
    """No event says that another ran what has none; the same functions, at the same depth; a function once, and again."""
    pytest.importorskip("greenlet")
    seen, pieces = compare_pieces(textwrap.dedent("""
        import greenlet
        def straight(n):
            x = n
            main.switch()
            x = 1
            x = 2
            main.switch()
            x = 3
            main.switch(helper(x))
            x = 4
        def helper(n):
            try:
                raise KeyError
            except KeyError:
                main.switch()
                if n: n = 7
            return n
        main = greenlet.getcurrent()
        def drive():
            greenlets = [greenlet.greenlet(straight) for _ in range(3)]
            for each in greenlets: each.switch(5)
            x = 1
            greenlets[0].switch()
            x = 2
            greenlets[1].switch()
            greenlets[2].switch()
            x = 3
            for each in greenlets: each.switch()
            x = 4
            for each in greenlets: each.switch()
            for each in greenlets: each.switch()
        drive()
        drive()
    """))
    assert len(pieces) > 20


@pytest.mark.parametrize("calls", ["run(it, text)", "helper(it)", "run(it, text); x = 7; run(it, text)"])
def test_subinterpreters_are_never_guessed(calls, compare_pieces):
    """They have a stack of their own: when the one below goes on, it is unknown what it did."""
    seen, pieces = compare_pieces(textwrap.dedent(f"""
        try:
            import _interpreters as interpreters
            run = interpreters.exec
        except ImportError:
            import _xxsubinterpreters as interpreters
            run = interpreters.run_string
        source = "def inner(n):\\n    x = n\\n    return x\\nfor n in range(3): inner(n)\\n"
        text = f"exec(compile({{source!r}}, {{__file__[:-10] + 'inner/program.py'!r}}, 'exec'))"
        def helper(it):
            run(it, text)
        def caller(it):
            x = 1
            {calls}
            x = 2
            x = 3
            {calls}
            x = 4
            return x
        it = interpreters.create()
        caller(it)
        x = 5
        caller(it)
        x = 6
        x = 7
    """))


JUMPS = """
import sys

def moved(n):
    total = 0
    total += 1
    total += 10
    total += 100
    return total

def trace(frame, event, arg):
    if event == "line" and frame.f_code is moved.__code__ and frame.f_lineno == 6 and frame.f_locals["n"] % 2:
        frame.f_lineno = 8
    return trace

def run():
    for n in range(ROUNDS):
        moved(n)

sys.settrace(trace)
run()
sys.settrace(None)
run()
"""


MOVED = {
    "jumps": "ROUNDS = 6" + JUMPS,
    "where chunks begin": "ROUNDS = 30000" + JUMPS,
    "traced": (ROOT / "tests/python/programs/oracle/traced.py").read_text(),
}


@pytest.mark.parametrize("program", MOVED)
def test_moved_frames_are_never_guessed(program, observe, record, events, tmp_path):
    """A debugger sets f_lineno: up to the next event it is unknown what ran, and nowhere else."""
    reference = [tuple(event) for event in observe(MOVED[program])]
    read = events(record([tmp_path / "program.py"], "--events=flow", "--include=program.py", "--ring-size=64K"))
    at, is_unknown, unknown = 0, False, 0
    for event in read:
        if event["event"] == "UNKNOWN":
            is_unknown = True
            unknown += 1
        elif event["event"] in EVENTS:
            at = reference.index(shape(event), at) if is_unknown else at
            assert shape(event) == reference[at], at
            at, is_unknown = at + 1, False
    assert unknown and at == len(reference)


SETTER = """
import ctypes, sys, types
import kymo

class GetSet(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("name", "get", "set", "doc", "closure")]
class Descriptor(ctypes.Structure):
    _fields_ = [("head", ctypes.c_byte * object.__basicsize__), *((name, ctypes.c_void_p) for name in ("type", "name", "qualname")),
                ("getset", ctypes.POINTER(GetSet))]

definition = Descriptor.from_address(id(types.FrameType.__dict__["f_lineno"])).getset.contents
original = definition.set

def recorded(events="flow"):
    with kymo.record("a.kymo", events=events, force=True):
        return definition.set
"""


def test_the_setter_of_f_lineno_is_given_back(importing, python, tmp_path):
    """While nothing is recorded, and after a recording that could not begin, it is CPython's own."""
    program = SETTER + """
assert recorded("calls") == original
for _ in range(2):
    assert recorded() != original
    assert definition.set == original
try:
    with kymo.record("/nowhere/a.kymo", events="flow"):
        pass
except OSError:
    assert definition.set == original
tools = sys.monitoring
for tool in range(6):
    tools.use_tool_id(tool, "another")
try:
    recorded()
except RuntimeError:
    print(definition.set == original)
"""
    done = subprocess.run([python, "-c", program], env=environment(importing), cwd=tmp_path, capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_setter_of_another_tool_before_ours(importing, python, tmp_path):
    """It is left alone, leads to CPython's, and a second recording does not make a ring of them."""
    program = SETTER + """
def moved(n):
    total = 1
    total += 10
    total += 100
    return total

def trace(frame, event, arg):
    line = moved.__code__.co_firstlineno + 2
    if event == "line" and frame.f_code is moved.__code__ and frame.f_lineno == line and frame.f_locals["n"] % 2:
        frame.f_lineno = line + 1
    return trace

SET = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object, ctypes.c_void_p)
with kymo.record("a.kymo", events="flow", force=True):
    below, calls = SET(definition.set), []
    def passed_on(frame, line, closure):
        calls.append(line)
        return below(frame, line, closure)
    mine = SET(passed_on)
    definition.set = ctypes.cast(mine, ctypes.c_void_p).value
theirs = definition.set
with kymo.record("b.kymo", events="flow", force=True):
    assert definition.set == theirs
    sys.settrace(trace)
    print(moved(1), moved(2), len(calls))
    sys.settrace(None)
definition.set = original
recorded()
assert definition.set == original
"""
    done = subprocess.run([python, "-c", program], env=environment(importing), cwd=tmp_path, capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert (done.stdout, done.stderr) == ("101 111 1\n", "")
