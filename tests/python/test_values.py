# SPDX-License-Identifier: Apache-2.0
"""Values in traces made by hand, through every reader: against the interpreter's own repr() and tests/model/value_model.py."""
import contextlib
import io
import json
import random
import re
import struct
import unicodedata

import kymo as library
import kymo_model
import pytest
from conftest import ROOT
from kymo_model import VALUES
from trace_builder import TraceBuilder, encode_record
from wire import put_leb128

from test_model import compare  # noqa: F401 - a fixture

NAMES = {1: "User", 2: "type", 3: "module", 4: "Decimal", 5: "Color", 6: "ValueError", 7: "ndarray", 8: "Odd\x1bName", 9: "MyList", 10: "Fraction",
         11: "datetime", 12: "Index"}
ID = 0x7F0012345678
DEFINITIONS = (
    ("process", {"pid": 7, "folder": "7-1-x"}), ("thread", {"thread": 1, "native_id": 71, "name": "t"}),
    ("content", {"id": 1, "file": "f.py", "name": "f", "qualname": "f", "first_line": 1, "varnames": ["x", "y", "z"], "names": ["g"]}),
    ("code", {"id": 1, "content": 1}), *(("name", {"id": id, "name": name}) for id, name in NAMES.items()),
)  # fmt: skip


def count(kept, whole=None):
    return put_leb128(kept if whole is None else whole) + put_leb128(kept)


def text(data, whole=None):
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return count(len(data), whole) + data


def head(kind, type=None, id=None):
    return bytes([kind]) + (b"" if type is None else put_leb128(type)) + (b"" if id is None else struct.pack("<Q", id))


def zigzag(number):
    return put_leb128((number << 1 ^ number >> 63) & (1 << 64) - 1)


def encode(value):
    """A builtin as docs/format.md has it, whole."""
    if value is None or value is True or value is False or value is ... or value is NotImplemented:
        return bytes([{None: 4, False: 5, True: 6, ...: 7, NotImplemented: 8}[value]])
    if isinstance(value, int):
        if -1 << 63 <= value < 1 << 63:
            return b"\x0b" + zigzag(value)
        return bytes([12, value < 0]) + text(abs(value).to_bytes((abs(value).bit_length() + 7) // 8, "little"))
    if isinstance(value, float):
        return b"\x0d" + struct.pack("<d", value)
    if isinstance(value, complex):
        return b"\x0e" + struct.pack("<dd", value.real, value.imag)
    if isinstance(value, str):
        return b"\x0f" + put_leb128(len(value)) + text(value)
    if isinstance(value, bytes):
        return b"\x10" + text(value)
    if isinstance(value, bytearray):
        return head(17, id=ID) + text(bytes(value))
    if isinstance(value, range):
        return b"\x17" + encode(value.start) + encode(value.stop) + encode(value.step)
    if isinstance(value, slice):
        return b"\x18" + encode(value.start) + encode(value.stop) + encode(value.step)
    kind = {tuple: 18, list: 19, set: 20, frozenset: 21, dict: 22}[type(value)]
    items = [part for pair in value.items() for part in pair] if kind == 22 else value
    return head(kind, id=None if kind == 18 else ID) + count(len(value)) + b"".join(map(encode, items))


def local(i, value):
    return put_leb128(2 * i + 1) + value


def attributes(whole=None, **values):
    return count(len(values), whole) + b"".join(encode(name) + value for name, value in values.items())


EVENTS = [("PY_START", 1), ("LINE", 2), ("PY_YIELD", 3), ("RAISE", 4, 6), ("PY_RETURN", 5), ("JUMP", 1, 2)]


@pytest.fixture
def trace(tmp_path):
    """trace(block, …): a trace with an event for each, values before it."""
    def make(*blocks, features=VALUES, definitions=DEFINITIONS):
        records = []
        for i, block in enumerate(blocks):
            records += [("VALUES", block)] * bool(block) + [EVENTS[i % len(EVENTS)]]
        builder = TraceBuilder(required_features=features).meta(1, *definitions)
        builder.chunk(*records, first_ordinal=1, last_ordinal=len(blocks))
        path = tmp_path / "values.kymo"
        path.write_bytes(builder.close().data)
        return path
    return make


BUILTINS = [
    None, True, False, ..., NotImplemented, 0, -1, 2**63 - 1, -(2**63), 2**63, -(2**64), 10**100, -(10**1000), 256**1785 - 1,
    0.0, -0.0, 1.0, 1e16, 1e15, 123456789012345680.0, 1e-5, 0.0001, 0.1, 5e-324, 1.7976931348623157e308, 2.0**-44, 2.0**-1000,
    float("inf"), -float("inf"), float("nan"), 1j, 1 + 2j, -0.0 + 1j, complex("nan-infj"), complex(0.0, -1e16), 3.5 - 0.25j,
    "", "abc", "it's", 'say "it\'s"', "\\\t\n\r\0\x1b\x7f\x80\xa0\xad", "ä€😀", "\u200b\u2028\ufeff\ue000\U000e0001", "\udc80\ud800",
    b"", b"it's\\\n\xff\0~\x7f", bytearray(b"\x80a"), (), (1,), (1, "a"), [], [[[]], ()], set(), {1}, frozenset(), frozenset({"x"}),
    {}, {"a": [1, {2: None}], (1, 2): b"c"}, range(3), range(1, 10, 2), range(10**30), slice(None, 3), slice(1, 2, "x"),
]  # fmt: skip


def test_builtins_are_shown_as_repr_has_them(trace, events, compare):
    path = trace(*(b"\0" + local(1, encode(value)) for value in BUILTINS))
    compare(path)
    assert [event["values"]["y"]["text"] for event in events(path)] == [repr(value) for value in BUILTINS]
    with library.open(path) as history:
        made = [event.values["y"].python for event in history.events()]
    assert [(type(value), repr(value)) for value in made] == [(type(value), repr(value)) for value in BUILTINS]


def test_every_character_that_is_assigned(trace, events):
    texts = []
    for first in range(0, 0x110000, 1024):
        characters = [chr(c) for c in range(first, first + 1024)]
        texts.append("".join(c for c in characters if unicodedata.category(c) != "Cn"))
    path = trace(*(b"\0" + local(0, encode(text)) for text in texts))
    for event, text in zip(events(path), texts, strict=True):
        assert event["values"]["x"]["text"] == repr(text)


def any_float(rng):
    return rng.choice([struct.unpack("<d", rng.randbytes(8))[0], rng.random() * 10.0 ** rng.randint(-5, 20),
                       2.0 ** rng.randint(-1074, 1023), rng.getrandbits(rng.randint(1, 52)) * 5e-324, round(rng.random() * 1000, rng.randint(0, 5))])  # fmt: skip


def test_floats_have_the_digits_that_repr_gives_them(trace, events):
    rng = random.Random(1)
    floats = [any_float(rng) for _ in range(2000)]
    path = trace(*(b"\0" + local(0, encode(number)) for number in floats))
    assert [event["values"]["x"]["text"] for event in events(path)] == list(map(repr, floats))


OTHERS = {
    "'abc'…+997": b"\x0f" + put_leb128(1000) + text("abc", 1000),
    "b'abc'…+7": b"\x10" + text(b"abc", 10),
    "[1, 2, …+98]": head(19, id=ID) + count(2, 100) + encode(1) + encode(2),
    "{'a': 1, …+2}": head(22, id=ID) + count(1, 3) + encode("a") + encode(1),
    "{…+4}": head(20, id=ID) + count(0, 4),
    "≈2**8007": bytes([12, 0]) + text(b"\xff", 1001),
    "-≈2**64": bytes([12, 1]) + text(b"\x01", 9),
    "<unbound>": b"\x01",
    "<redacted>": b"\x02",
    "<not recorded>": b"\x03",
    f"<User at {ID:#x}, shown before>": head(10, 1, ID),
    f"<User at {ID:#x}: name='x', age=3>": head(25, 1, ID) + attributes(name=encode("x"), age=encode(3)),
    f"<User at {ID:#x}: name='x', …+2>": head(25, 1, ID) + attributes(3, name=encode("x")),
    f"<? at {ID:#x}>": head(25, 77, ID) + attributes(),
    f"<Odd\\x1bName at {ID:#x}: a\\nb=1>": head(25, 8, ID) + attributes(**{"a\nb": encode(1)}),
    "<class 'C.D'>": head(26, 2, ID) + text("C.D"),
    "<module 'os'>": head(26, 3, ID) + text("os"),
    f"<User f at {ID:#x}>": head(26, 1, ID) + text("f"),
    "Decimal('1.5')": head(27, 4) + text("1.5"),
    "Decimal('1.5'…)": head(27, 4) + text("1.5", 9),
    "Fraction(1, 3)": head(27, 10) + text("1/3"),
    "Fraction(4, 1)": head(27, 10) + text("4"),
    "2026-01-02 03:04:05+01:00": head(27, 11) + text("2026-01-02 03:04:05+01:00"),
    "2026-01-…": head(27, 11) + text("2026-01-", 19),
    "<Index, kept by\\x1b nobody>": head(32, 12) + text("kept by\x1b nobody"),
    "Color.RED": head(28, 5, ID) + text("RED") + encode(1),
    "ValueError('no', 2)": head(29, 6, ID) + encode(("no", 2)) + encode(None) * 2 + attributes(),
    f"<ValueError() at {ID:#x}: code=1> from ValueError('cause')": head(29, 6, ID) + encode(())
    + head(29, 6, ID) + encode(("cause",)) + encode(None) * 2 + attributes()
    + head(29, 6, ID) + encode(("context",)) + encode(None) * 2 + attributes() + attributes(code=encode(1)),
    f"ValueError() while handling <ValueError at {ID:#x}, shown before>": head(29, 6, ID) + encode(()) + encode(None)
    + head(10, 6, ID) + attributes(),
    "<ndarray float64 (2, 3): [1.0, 2.0, …+4]>": head(30, 7, ID) + text("float64") + b"\2\2\3" + count(2, 6) + encode(1.0) + encode(2.0),
    "<ndarray int8 (0,): []>": head(30, 7, ID) + text("int8") + b"\1\0" + count(0),
    "MyList([1])": head(31, 9) + encode([1]),
}  # fmt: skip


def test_what_is_no_builtin_or_was_cut(trace, events, compare):
    path = trace(*(b"\0" + local(0, value) for value in OTHERS.values()))
    compare(path)
    assert [event["values"]["x"]["text"] for event in events(path)] == list(OTHERS)
    with library.open(path) as history:
        values = [event.values["x"] for event in history.events()]
    for value in values:
        with pytest.raises(ValueError, match="cannot be converted"):
            value.python  # noqa: B018
    told = {value.text: value for value in values}
    user = told[f"<User at {ID:#x}: name='x', age=3>"]
    assert (user.type, user.id, user.name.python, user.attributes["age"].python) == ("User", ID, "x", 3)
    with pytest.raises(AttributeError, match="'email'"):
        user.email  # noqa: B018
    assert (told["'abc'…+997"].length, told["'abc'…+997"].is_cut, user.is_cut) == (1000, True, False)
    assert told["[1, 2, …+98]"][1].python == 2 and told["{'a': 1, …+2}"]["a"].python == 1
    with pytest.raises(KeyError):
        told["{'a': 1, …+2}"]["b"]
    raised = told[f"<ValueError() at {ID:#x}: code=1> from ValueError('cause')"]
    assert (raised.cause.text, raised.context.text, raised.code.python) == ("ValueError('cause')", "ValueError('context')", 1)
    assert told["<redacted>"].is_redacted and told["<unbound>"].is_unbound and told["<not recorded>"].is_cut


def any_value(rng, level=0):
    choice = rng.randrange(11 if level < 3 else 7)
    if choice < 4:
        return rng.choice([None, True, rng.randint(-9, 9), rng.getrandbits(rng.randint(1, 200)) - rng.getrandbits(70)])
    if choice == 4:
        return any_float(rng)
    if choice < 7:
        data = rng.randbytes(rng.randint(0, 9))
        return data if choice == 5 else data.decode("latin-1") + rng.choice(["", "…", "\ud800"])
    items = [any_value(rng, level + 1) for _ in range(rng.randint(0, 4))]
    return [items, tuple(items), {str(i): item for i, item in enumerate(items)}, slice(*(items + [None] * 3)[:3])][choice - 7]


@pytest.mark.parametrize("seed", range(3))
def test_any_values_through_the_model_and_back(seed, trace, compare):
    rng = random.Random(seed)
    values = [{name: any_value(rng) for name in ("x", "y", "z", "g") if rng.random() < 0.5} for _ in range(300)]
    numbers = {"x": b"\1", "y": b"\3", "z": b"\5", "g": b"\2"}
    path = trace(*((b"\0" + b"".join(numbers[name] + encode(value) for name, value in told.items())) if told else b"" for told in values))
    compare(path)
    with library.open(path) as history:
        seen = [{name: repr(value.python) for name, value in event.values.items()} for event in history.events()]
    assert seen == [{name: repr(value) for name, value in told.items()} for told in values]


def test_what_the_chunk_has_already_is_told_by_its_place(trace, events, compare):
    sync, head = 2, 6
    first = b"\0" + local(0, encode(["interned"])) + local(1, encode(7))
    at = sync + head + 2  # the list, behind the flags and its name
    inner = at + 1 + 8 + 2
    path = trace(first, b"\0" + local(0, b"\x09" + put_leb128(at)) + local(2, b"\x09" + put_leb128(inner)))
    compare(path)
    same = events(path)[1]["values"]
    assert (same["x"]["text"], same["z"]["text"]) == ("['interned']", "'interned'")


BLOCKS = (
    b"\1" + local(0, encode(3)) + local(1, encode("a\x1b")), b"\0" + local(1, encode([1])), b"\0\0" + encode((1, None)),
    b"\0\0" + head(29, 6, ID) + encode(("no",)) + encode(None) * 2 + attributes(), b"\0" + local(0, b"\2") + b"\0" + encode(None), b"",
)  # fmt: skip


def test_values_as_text(trace, kymo):
    path = trace(*BLOCKS)
    lines = kymo("events", path).stdout.splitlines()
    ends = [r"f.py f  x=3, y='a\x1b'", "f.py:2 f  y=[1]", "f.py f  -> (1, None)", "f.py f  ValueError('no')",
            "f.py f  x=<redacted>  -> None", "-> offset 4"]  # fmt: skip
    for line, end in zip(lines, ends, strict=True):
        assert line.endswith(end)
    for line, end in zip(kymo("tail", path).stdout.splitlines()[-6:], ends, strict=True):
        assert line.endswith(end)
    assert "y=" not in kymo("events", "--no-values", path).stdout
    assert "values" not in kymo("events", "--no-values", "--jsonl", path).stdout
    told = [json.loads(line) for line in kymo("events", "--jsonl", path).stdout.splitlines()]
    tail = json.loads(kymo("tail", "--json", path).stdout)["processes"][0]["threads"][0]["events"]
    assert tail == told


def test_an_exception_is_told_once(trace, kymo):
    raised = b"\0\0" + head(29, 6, ID) + encode(("no",)) + encode(None) * 2 + attributes()
    path = trace("", "", "", raised + local(0, encode(1)), "", "", "", "", "", b"\0" + local(0, encode(1)), "", "", "", "", "", b"\0\0\2")
    for verb, count in ("events", 3), ("tail", 2):
        ends = [line.partition("f.py f  ")[2] for line in kymo(verb, path).stdout.splitlines() if " RAISE " in line]
        assert ends == ["ValueError('no'), x=1", "ValueError  x=1", "ValueError  <redacted>"][-count:]
    assert kymo("events", "--no-values", path).stdout.count("f.py f  ValueError\n") == 3


def test_a_long_value_is_cut_in_the_tail(trace, kymo):
    path = trace(b"\0" + local(0, encode("w" * 1000)) + local(1, encode("v" * 1000)) + local(2, encode(5)))
    line, = (line for line in kymo("tail", path).stdout.splitlines() if "www" in line)
    assert 90 < line.count("w") < 100 and line.endswith("…")
    assert "w" * 1000 in kymo("events", path).stdout


def test_events_of_several_threads_keep_their_values(tmp_path, events):
    builder = TraceBuilder(required_features=VALUES).meta(1, *DEFINITIONS, ("thread", {"thread": 2, "native_id": 72, "name": "u"}))
    for seq in range(20):
        for thread in 1, 2:
            records = []
            for i in range(10):
                block = b"\0" + local(0, encode([thread, seq, i]))
                records += [("VALUES", block), ("LINE", 70 + i), ("TIME", 5)]
            builder.chunk(("CODE", 1), *records, thread=thread, ring=thread, seq=seq + 1, first_ordinal=10 * seq + 1,
                          last_ordinal=10 * seq + 10, open_clock=50 * seq, close_clock=50 * seq + 50)
    path = tmp_path / "t.kymo"
    path.write_bytes(builder.close().data)
    seen = [(event["tid"] - 70, event["n"] - 1, event["values"]["x"]["text"]) for event in events(path)]
    assert len(seen) == 400
    assert all(text == repr([thread, n // 10, n % 10]) for thread, n, text in seen)


DAMAGED = b"\0" + local(0, encode(1)) + local(1, b"\x12" + count(3) + encode(2))


def test_of_a_damaged_block_the_rest_is_told_and_verify_says_so(trace, kymo, events):
    path = trace(b"\0" + local(0, encode(1)))
    assert kymo("verify", path).stdout.rstrip().endswith(": good")
    path = trace(DAMAGED)
    told = events(path)[0]["values"]
    assert (told["x"]["text"], told["y"]["text"], told["y"]["cut"]) == ("1", "(2, <not recorded>, …+1)", True)
    result = kymo("verify", path, check=False)
    assert result.returncode == 1 and "the values of 1 event are damaged" in result.stderr


def test_stats_counts_values(trace, kymo):
    path = trace(*BLOCKS)
    rows = dict(line.rsplit(maxsplit=1) for line in kymo("stats", path).stdout.splitlines() if line.startswith("  "))
    assert rows["  events with values"] == "5" and rows["  values"] == "7"
    assert float(rows["  bytes of a value"]) == round(sum(len(block) + 6 for block in BLOCKS if block) / 7, 1)


def flow_records(payload):
    """(bytes, whether it is an event) of each record of a `flow` recording."""
    at = 0
    while at < len(payload):
        tag, start = payload[at], at
        if tag >= 0x80:
            at += 1
        elif tag in (1, 2):
            at += 5 if tag == 1 else 6 + (payload[at + 1] in (3, 4)) * int.from_bytes(payload[at + 2:at + 6], "little")
        else:
            at += 1 + (1 << (tag & 3)) * (2 if 9 <= tag >> 2 <= 21 else 1)
        is_event = tag >= 0x80 or tag == 1 or (tag == 2 and payload[start + 1] == 1) or 2 <= tag >> 2 <= 21 or tag >> 2 == 25
        yield payload[start:at], is_event


def with_values(path, block):
    """The same trace with values before each event that was recorded, and how many these are."""
    data = path.read_bytes()
    header = kymo_model.FileHeader(*kymo_model.FILE_HEADER.unpack_from(data))
    builder, events = TraceBuilder(required_features=header.required_features | VALUES), 0
    for frame in kymo_model.scan(data)[0]:
        fields = frame.header._asdict()
        for name in ("magic", "kind", "header_bytes", "stored_bytes", "raw_bytes", "reserved", "crc32c"):
            del fields[name]
        fields["flags"] &= ~kymo_model.LZ4
        payload = frame.payload
        if frame.header.kind == kymo_model.CHUNK:
            records = [*flow_records(payload[frame.header.sync_bytes:])]
            events += sum(is_event for _, is_event in records)
            payload = payload[:frame.header.sync_bytes] + b"".join(
                (encode_record("VALUES", block) if is_event else b"") + record for record, is_event in records)
        if frame.header.kind in (kymo_model.CHUNK, kymo_model.META):
            builder.frame(frame.header.kind, payload, **fields)
    output = path.with_name("with-values.kymo")
    output.write_bytes(builder.close().data)
    return output, events


FLOW = """
import threading
def f(n):
    for i in range(n):
        if i % 3:
            yield i
def g(n):
    try:
        for i in f(n):
            if i > 7:
                raise KeyError(i)
    except KeyError:
        pass
threads = [threading.Thread(target=g, args=(n,)) for n in (5, 30)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
g(9)
"""


def test_values_in_a_flow_recording_change_nothing_else(record, kymo, events):
    plain = record(FLOW)
    path, count = with_values(plain, b"\0\0" + encode("own"))
    assert kymo("verify", path).stdout.split(": ")[1] == kymo("verify", plain).stdout.split(": ")[1]
    seen = events(path)
    assert sum("value" in event for event in seen) == count > 100
    assert all(event.pop("value")["text"] == "'own'" for event in seen if "k" not in event)
    assert seen == events(plain) == events(path, "--no-values")
    for words in (["coverage", "--format=lcov"], ["export", "--format=collapsed"], ["export", "--format=chrome"], ["stats", "--callees=g"]):
        told = [kymo(*words, "-o", "-", trace).stdout if words[0] != "stats" else kymo(*words, trace).stdout for trace in (path, plain)]
        assert told[0] and told[0].replace(path.name, "") == told[1].replace(plain.name, ""), words
    assert "The same: 3 threads" in kymo("diff", path, plain).stdout
    with library.open(path) as one, library.open(plain) as other:
        one, other = one.cursor("start"), other.cursor("start")
        moves = ["step_in", "step_over", "next_event", "next_event", "resume", "step_in_back", "prev_event", "next_switch", "step_over_back"]
        for _ in range(30):
            for move in moves:
                if move == "resume":
                    for cursor in one, other:
                        cursor.break_at("program-1.py", 5)
                assert getattr(one, move)() == getattr(other, move)(), move
                here, there = one.event, other.event
                assert here._replace(values_json=None) == there and one.stack == other.stack
                assert here.k or here.event in ("GAP", "UNKNOWN") or here.value.python == "own"


def test_the_guide_shows_what_comes_out(record, kymo, tmp_path):
    guide = (ROOT / "docs/guide/values.md").read_text()
    (program, *readings), outputs = (re.findall(rf"^```{kind}\n(.*?)^```$", guide, re.M | re.S) for kind in ("python", "output"))
    shown = re.search(r"^```\n(PY_START.*?)^```$", guide, re.M | re.S).group(1)
    (tmp_path / "order.py").write_text(program)
    trace = record([tmp_path / "order.py"], "--values=args", "--values-for=order.py", status=1, output=tmp_path / "order.kymo")
    assert "\nvalues     args: this trace holds what variables held in order.py\n" in kymo("info", trace).stdout
    assert kymo("verify", trace).stdout.endswith(": good\n")
    lines = kymo("events", "--file=order.py", trace).stdout.replace(str(tmp_path), "/home/ada")
    for line in re.sub(r"0x[0-9a-f]+", "0x7f3a15b56ba0", shown).splitlines():
        kind, rest = line.split(maxsplit=1)
        assert re.search(rf" {kind} +{re.escape(rest)}$", re.sub(r"0x[0-9a-f]+", "0x7f3a15b56ba0", lines), re.M), line
    assert len(readings) == len(outputs)
    for reading, output in zip(readings, outputs):
        reading = reading.replace("/home/ada", str(tmp_path)).replace('"order.kymo"', repr(str(trace)))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec("import kymo\n" + reading, {})
        assert printed.getvalue() == output
