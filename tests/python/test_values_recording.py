# SPDX-License-Identifier: Apache-2.0
"""Recorded values are what a tool in pure Python finds in the frames of the same program."""
import marshal
import subprocess
from pathlib import Path

import kymo as library
import pytest
from hypothesis import HealthCheck, given, settings

import value_decoder
from conftest import environment
from generated_programs import programs
from streams import first_difference

OBSERVER = Path(__file__).parent / "programs" / "observe_values.py"
WITH_VALUES = ("PY_START", "PY_RETURN", "PY_YIELD", "RAISE", "PY_UNWIND", "LINE")
PROGRAM = '''
import threading

limit = 3
title = "a title that is longer than sixteen bytes"

def add(a, b=2, *rest, key=None, **more):
    password = "hunter2"
    total = a + b
    total += len(rest)
    del b
    return total

def outer(x):
    y = x
    def inner(z):
        nonlocal y
        y += z
        return x + y
    def unused():
        return late
    result = inner(1) + inner(2)
    late = [result]
    late.append(unused()[0])
    return late

def generate(n):
    for i in range(n):
        got = yield i, n
        if got:
            n -= 1

def fail(depth, api_token):
    if depth:
        return fail(depth - 1, api_token)
    raise ValueError(depth)

class Point:
    origin = 0
    size = origin + 1
    def __init__(self, x):
        self.x = x
    def moved(self, by):
        squares = [n * n for n in range(limit)]
        return Point(self.x + by + sum(squares)).x

def get_secret():
    return "hush"

def texts(n):
    for i in range(n):
        s = str(i) * 3
        t = s.upper()
        u = ("%05d" % i)
    return s, t, u

def containers():
    items, table = [], {}
    for i in range(25):
        items.append(i)
        table[str(i)] = [items[-1]]
    both = (items, table)
    return both

def powers(n):
    for i in (62, 63, 64, 200, 1599, 1600, 8001):
        power = -1 << i
        power = ~power + n
    return power

def main(n):
    add(1)
    add(1, 2, 3, 4, key=title, more=1.5, and_more=None)
    outer(5)
    left, right = generate(3), generate(2)
    seen = [next(left), next(right), next(left), right.send(True)]
    left.close()
    for depth in 0, 3:
        try:
            fail(depth, title)
        except ValueError as error:
            kept = error.args
    Point(1).moved(2)
    get_secret()
    texts(4)
    powers(n)
    containers()
    try:
        raise KeyError(n)
    except KeyError:
        try:
            raise
        except KeyError:
            pass
    return seen, kept, n

for turn in range(3):
    main(turn)
    title = title + "!"
worker = threading.Thread(target=main, args=(99,))
worker.start()
worker.join()
'''


@pytest.fixture
def observe(python, tmp_path):
    """observe(program, scope): what the oracle sees of each thread."""
    def run(program, scope):
        output = tmp_path / "observed"
        subprocess.run([python, OBSERVER, output, scope, program], env=environment(), stdout=subprocess.DEVNULL, timeout=300,
                       check=True)
        return marshal.loads(output.read_bytes())
    return run


@pytest.fixture
def compare(observe, record, tmp_path):
    """Hold the values of a recording of @text with @scope and @options against the oracle's; returns the decoders."""
    def run(text, scope, *options):
        program = tmp_path / "program.py"
        program.write_text(text)
        seen = observe(program, scope)
        decoders = value_decoder.threads(record([program], f"--values={scope}", "--include=program.py", *options))
        kinds = {event[0] for decoder in decoders for event in decoder.events}.intersection(WITH_VALUES)
        assert {"PY_START", "PY_RETURN"} <= kinds
        assert len(seen) == len(decoders)
        for theirs, decoder in zip(seen, decoders):
            ours = [event if scope != "args" or event[0] == "PY_START" else (*event[:4], {})
                    for event in decoder.events if event[0] in kinds]
            theirs = [event for event in theirs if event[0] in kinds]
            assert not (difference := first_difference(ours, theirs)), f"recorded {difference}"
        return decoders
    return run


@pytest.mark.parametrize("events", ["calls", "flow", "full"])
@pytest.mark.parametrize("scope", ["args", "locals", "globals"])
def test_values_are_those_of_the_frames(compare, scope, events):
    if scope != "args" and events == "calls":
        events = "calls,LINE"
    decoder = compare(PROGRAM, scope, f"--events={events}")[0]
    assert any(own for *_, own, _ in decoder.events)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_values_of_generated_programs(compare, text):
    compare(text, "locals", "--events=flow")
    compare(text, "args", "--events=calls")


def test_a_chunk_tells_all_variables_again(compare):
    program = """
def f(n, text):
    for i in range(n):
        x = i * 2
        y = [x]
    return text

for turn in range(40):
    f(40, "once more")
"""
    decoder, = compare(program, "locals", "--ring-size=8K", "--values-limits=bytes=512,items=20")
    assert decoder.chunks > 5
    assert decoder.whole > 40 + decoder.chunks


def test_what_did_not_change_is_not_told_again(record):
    program = """
def f(a, b):
    c = a
    for i in range(2):
        c = c + i + 1000
        b.append(i)
    del c
    return a

f(10**6, [])
"""
    decoder, = value_decoder.threads(record(program, "--values=locals", "--values-for=f", "--no-stdlib"))
    told = [sorted(names) for event, names in zip(decoder.events, decoder.told) if event[1] == "f"]
    # PY_START, the lines 3 4 5 6, 4 5 6, 4, 7, 8, and PY_RETURN: what the line before has done.
    assert told == [["a", "b"], [], ["c"], ["i"], ["c"], ["b"], ["i"], ["c"], ["b"], [], ["c"], [""]]


CHANGES = {
    "deque": ("collections.deque([1, 2])", ["x.append(3)", "x[0] = 4", "x.rotate()", "len(x)", "x.popleft()"], [1, 1, 1, 0, 1]),
    "frame": ("frame()", ["x.loc[0, 'b'] = 9", "x.index", "x['new'] = 1", "x.loc[1, 'new'] = 2", "x.shape"], [1, 0, 1, 1, 0]),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_inside_is_told(record, kind):
    make, lines, changes = CHANGES[kind]
    if kind == "frame":
        pytest.importorskip("pandas")
    program = "\n    ".join(["import collections\ndef frame():\n    import pandas\n    return pandas.DataFrame({'a': [1, 2], 'b': [3, 4]})\n"
                            "def f(x):", *lines, "pass"]) + f"\nf({make})\n"
    decoder, = [each for each in value_decoder.threads(record(program, "--values=locals", "--values-for=f", "--no-stdlib"))
                if any(event[1] == "f" for event in each.events)]
    told = [bool(names) for event, names in zip(decoder.events, decoder.told) if event[:2] == ("LINE", "f")]
    assert told[1:] == [bool(change) for change in changes]


def test_a_value_that_comes_again_is_told_by_its_place(record):
    text = "a text of thirty-two characters!"
    program = f"def f(text):\n    return text\n\nfor i in range(1000):\n    f('{text}')\n"
    path = record(program, "--values=args", "--events=calls", "--values-for=f", "--no-stdlib", "--no-sources")
    decoder, = value_decoder.threads(path)
    calls = [event[-1] for event in decoder.events if event[:2] == ("PY_START", "f")]
    assert calls == [{"text": (32, text)}] * 1000
    assert sum(payload.count(text.encode()) for payload in value_decoder.payloads(path)) == decoder.chunks


SECRETS = """
import glob, os, sys

hidden = bytes(range(65, 90)).decode()
shown = bytes(range(97, 122)).decode()

class Account:
    def __init__(self, name, password):
        self.name, self.password = name, password

def sign_in(name, password, /, *, pin, Api_Key=None):
    account = Account(name, password)
    headers = {"Authorization": password, "name": name}
    auth_token = password + pin
    return account, headers

def get_pin():
    return hidden

for turn in range(3):
    globals()["sign_in"](shown, hidden, pin=get_pin(), Api_Key=hidden)
found = [0, 0]
for path in glob.glob(os.environ["KYMO_SESSION"] + "/**", recursive=True):
    if os.path.isfile(path):
        with open(path, "rb") as file:
            bytes_of_file = file.read()
        found = [found[0] + bytes_of_file.count(hidden.encode()), found[1] + bytes_of_file.count(shown.encode())]
print(*found)
"""


@pytest.mark.parametrize("scope", ["args", "locals"])
@pytest.mark.parametrize("events", ["calls", "flow", "full"])
def test_secrets_are_nowhere(kymo, tmp_path, scope, events):
    """Neither in the session's folder while the program runs nor in the trace; what is no secret is in both."""
    program, trace = tmp_path / "program.py", tmp_path / "t.kymo"
    program.write_text(SECRETS)
    done = kymo("record", "-o", trace, f"--values={scope}", f"--events={events}", "--redact=pin", "--redact=hid*", "--no-stdlib",
                "--values-for=[!<]*", "--no-sources", program)
    hidden, shown = map(int, done.stdout.split())
    assert hidden == 0 < shown
    payloads = b"".join(value_decoder.payloads(trace))
    assert bytes(range(65, 90)) not in payloads and bytes(range(97, 122)) in payloads
    decoder, = value_decoder.threads(trace)
    assert ("PY_RETURN", "get_pin", None, ("redacted",)) in [event[:4] for event in decoder.events]


def test_values_of_the_named_files_and_functions_alone(record):
    program = "class A:\n    def f(self, x): return x\n    def g(self, x): return x\nA().f(1), A().g(2)\n"
    for option, wanted in ("A.f", {"A.f"}), ("*.g", {"A.g"}), ("program-*.py", {"A.f", "A.g"}), ("other.py", set()):
        decoder, = value_decoder.threads(record(program, "--values=args", f"--values-for={option}", "--no-stdlib"))
        told = {event[1] for event, names in zip(decoder.events, decoder.told) if names}
        assert told - {"<module>", "A"} == wanted


@pytest.mark.parametrize("policy", ["block", "drop", "overwrite"])
def test_values_where_events_are_lost(record, kymo, policy):
    """Values are never those of another event: here each call's argument is what it returns."""
    program = "def f(n):\n    return n\nfor n in range(200000):\n    f(n)\n"
    path = record(program, "--values=args", "--values-for=f", f"--policy={policy}", "--ring-size=16K", "--no-stdlib")
    kymo("verify", path)
    decoder, = value_decoder.threads(path)
    calls = [event for event in decoder.events if event[0] == "GAP" or event[1] == "f" and event[0] in ("PY_START", "PY_RETURN")]
    assert any(event[1] for event in calls)
    for first, second in zip(calls, calls[1:]):
        if first[0] == "PY_START" and second[0] == "PY_RETURN":
            assert first[-1]["n"] == second[3][0]
    assert policy != "block" or len(calls) == 400000 and all(event[1] for event in calls)


def test_what_a_killed_process_left(record, tmp_path):
    """The last values before SIGKILL are there."""
    program = "import os\ndef f(n):\n    if n == 5000: os.kill(os.getpid(), 9)\n    return n\nfor n in range(10000):\n    f(n)\n"
    decoder, = value_decoder.threads(record(program, "--values=args", "--values-for=f", "--no-stdlib", status=-9))
    calls = [event[-1]["n"] for event in decoder.events if event[:2] == ("PY_START", "f")]
    assert calls == list(range(5001))


def test_children_tell_their_own(record):
    program = """
import os
def f(n, text):
    x = n + 1
    if n == 2:
        child = os.fork()
        x = "child" if not child else "parent"
        if child: os.waitpid(child, 0)
    return x
for n in range(4):
    f(n, "the same text in both of them")
"""
    decoders = value_decoder.threads(record(program, "--values=locals", "--values-for=f", "--no-stdlib"))
    returned = [[event[3][0] for event in decoder.events if event[:2] == ("PY_RETURN", "f")] for decoder in decoders]
    assert sorted(returned, key=repr) == sorted([[1, 2, (6, "parent"), 4], [(5, "child"), 4]], key=repr)
    for decoder in decoders:
        last = [event for event in decoder.events if event[1] == "f"][-1]
        assert last[-1] == {"n": 3, "text": (29, "the same text in both of them"), "x": 4}


def test_references_are_as_without(record, tmp_path, python):
    program = tmp_path / "program.py"
    program.write_text("""
import gc, sys
class Thing: pass
def f(a, *rest, **more):
    b = [a, rest]
    try:
        raise ValueError(a, b)
    except ValueError as error:
        c = error
    return sys.getrefcount(a), sys.getrefcount(rest), sys.getrefcount(b), sys.getrefcount(more)
thing = Thing(); thing.me = thing
sys.stdout.write(repr([f(thing, 1, key=thing) for _ in range(3)]) + repr(sys.getrefcount(thing)))
""")
    plain = subprocess.run([python, program], env=environment(), capture_output=True, text=True, check=True).stdout
    for scope in "args", "globals":
        output = tmp_path / f"{scope}.txt"
        with open(output, "w") as file:
            record([program], f"--values={scope}", "--events=full", "--no-stdlib", capture_output=False, stdout=file)
        assert output.read_text() == plain


def test_brief_values(record):
    """They are what all values are, less what is in them; the same program has the same ones each time."""
    script = """\
class Cart:
    def __init__(self, rows):
        self.rows, self.note = rows, "x" * 90
def f(x):
    return x
for x in (None, True, -3, 2**80, 1.5, "ab", "y" * 90, b"c", [1, [2]], (), {"k": 1}, {3}, range(2), Cart([1]), ValueError("no"), f):
    f(x)
"""
    texts = []
    for _ in range(2):
        with library.open(record(script, "--values=args", "--values-limits=text=300")) as trace:
            both = [list(trace.events(kinds=("PY_START", "PY_RETURN"), values=how)) for how in ("all", "brief")]
            none = list(trace.events(kinds=("PY_START", "PY_RETURN"), values="none"))
            with pytest.raises(ValueError, match="must be one of all, brief, none"):
                trace.events(values="some")
        whole, brief = ([event for event in events if event.function == "f"] for events in both)
        assert len(whole) == 32 and not any(event.values_json for event in none)
        for one, other in zip(whole, brief):
            for of, told in zip([*one.values.values(), one.value], [*other.values.values(), other.value]):
                if of is None:
                    assert told is None
                    continue
                assert (told.type, told.length, told.items, told.id) == (of.type, of.length, (), None)
                is_short = of.type in ("NoneType", "bool", "int", "float", "str", "bytes") and len(of.text) < 64
                assert told.text == (of.text if is_short else "…"), of
                assert told.is_cut == (of.is_cut or of.type in ("str", "bytes") and not is_short)
        cart = brief[26].values["x"]
        assert {name: (value.type, value.text) for name, value in cart.attributes.items()} == {"rows": ("list", "…"), "note": ("str", "…")}
        texts.append([event.values_json for event in brief])
    assert texts[0] == texts[1]
