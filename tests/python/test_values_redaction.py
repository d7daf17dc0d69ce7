# SPDX-License-Identifier: Apache-2.0
"""A secret's bytes leave the recorded process nowhere: not in the session's folder, its shared pages, the reader's memory or the trace."""
import json
from pathlib import Path

import pytest
import value_decoder

PROGRAMS = Path(__file__).parent / "programs"
PROGRAM = """
import collections, dataclasses, enum, glob, json, os, sys, types
from family import reader_pid

# Each is told apart by its place, and none is in this text.
count = 0
def fresh(kind):
    global count
    count += 1
    made = (kind * 9)[:20] + "%04d" % count
    return made

def hide(): return fresh(chr(81) + chr(122))
def show(): return fresh(chr(74) + chr(120))

@dataclasses.dataclass
class Data:
    name: str
    api_key: str
class Slots:
    __slots__ = "secret", "name"
    def __init__(self, name, hush): self.name, self.secret = name, hush
class Mapping(dict): pass
class Name(str): pass
Row = collections.namedtuple("Row", "name password")
class Failed(Exception):
    def __init__(self, hush, name):
        super().__init__(name)
        self.auth_token = hush

class Account:
    def __init__(self, name, hush):
        self.name, self._Password, self.inner = name, hush, {"deep": [{"cookie": hush}]}
    def get_secret(self):
        return self._Password
    def stream_tokens(self):
        yield self._Password
        yield hide()
    def fail_with_token(self):
        raise ValueError(self._Password)

def positional(name, password, /): return name
def by_name(*, name, pin, **more): return name
def many(name, **credentials): return name
def optional(name, passphrase="" or hide()): return name
def cells(name, private_key):
    def inner():
        nonlocal private_key
        private_key = private_key + hide()
        return len(private_key)
    return inner()
def loop(name, hushes):
    for passwd in hushes:
        pwd = passwd.lower()
        del passwd
    with_walrus = len(access_key := hide())
    first, (second, session_id) = name, (name, hide())
    return first, with_walrus

def objects(each): return each
def run():
    account = Account(show(), hide())
    account.get_secret()
    list(account.stream_tokens())
    for make in account.fail_with_token, raise_failed:
        try:
            make()
        except Exception as error:
            error.__traceback__ = None
            if make is raise_failed: kept = error
    positional(show(), hide())
    by_name(name=show(), pin=hide(), csrf_token=hide())
    many(show(), password=hide(), name2=show())
    optional(show())
    optional(show(), hide())
    cells(show(), hide())
    loop(show(), [])
    for each in (account, Data(show(), hide()), Slots(show(), hide()), Row(show(), hide()), Member, {b"Authorization": hide(), b"name": show()},
                 Mapping(Secret=hide(), name=show()), {Name("X-Api-Key"): hide()}, types.SimpleNamespace(name=show(), password=hide()), kept,
                 [{"user": show(), "PASSWORD": hide().encode()}], {"my_token_2": [hide()], ("a", "b"): show()}):
        objects(each)

def raise_failed():
    try:
        raise Failed(hide(), show())
    except Failed as error:
        raise RuntimeError(show()) from error

Member = enum.Enum("Member", {"NAME": show(), "API_KEY": hide()}).API_KEY
global_token = hide()
global_name = show()
def globals_too(): return len(global_token), len(global_name)

def found_in(data):
    hidden, shown = ((chr(a) + chr(b)) * 9 for a, b in ((81, 122), (74, 120)))
    return [data.count(each[:20].encode()) + data.lower().count(each[:20].lower().encode()) for each in (hidden, shown)]

def look():
    counts = {}
    for path in glob.glob(os.environ["KYMO_SESSION"] + "/**", recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                counts[os.path.basename(path)] = found_in(file.read())
    counts["reader"] = [0, 0]
    with open(f"/proc/{reader_pid()}/maps") as maps, open(f"/proc/{reader_pid()}/mem", "rb") as memory:
        for line in maps:
            place, access = line.split()[:2]
            first, last = (int(each, 16) for each in place.split("-"))
            if access[0] == "r" and "[v" not in line and last - first < 1 << 32:  # more is what a sanitizer sets aside
                try:
                    memory.seek(first)
                    counts["reader"] = [a + b for a, b in zip(counts["reader"], found_in(memory.read(last - first)))]
                except (OSError, OverflowError):
                    pass
    return counts

for turn in range(1000):
    run()
    globals_too()
    found = look()
    if found["reader"][1]:  # it has come so far
        break
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""


@pytest.mark.parametrize("options", [["--values=args", "--events=calls"], ["--values=locals"], ["--values=globals", "--events=full"]],
                         ids=" ".join)  # fmt: skip
def test_a_secret_is_nowhere(record, kymo, tmp_path, options):
    program, output = tmp_path / "program.py", tmp_path / "found.json"
    program.write_text(PROGRAM)
    names = ["positional", "by_name", "many", "optional", "cells*", "loop", "objects", "globals_too", "Account.*", "raise_failed"]
    trace = record([program, output], *options, "--redact=pin", "--redact=Hush", "--no-sources", "--include=program.py",
                   *(f"--values-for={name}" for name in names), env={"PYTHONPATH": PROGRAMS})
    found = json.loads(output.read_text())
    assert found["reader"][1] and sum(shown for _, shown in found.values()) > found["reader"][1]
    assert not any(hidden for hidden, _ in found.values()), found
    payloads = b"".join(value_decoder.payloads(trace)) + trace.read_bytes()
    assert payloads.count(b"JxJxJxJx") > 20
    assert b"qzqzqzqz" not in payloads.lower()
    told = kymo("events", trace).stdout
    assert told.count("<redacted>") > 50 and "qzqzqzqz" not in told.lower()
    for function, text in (
        ("Account.get_secret", "-> <redacted>"), ("positional", "password=<redacted>"), ("by_name", "pin=<redacted>"),
        ("by_name", "more={'csrf_token': <redacted>}"), ("objects", "Member.API_KEY"), ("objects", "b'Authorization': <redacted>"),
        ("objects", "secret=<redacted>"), ("Account.fail_with_token", "ValueError  <redacted>"),
    ):
        assert text in kymo("events", f"--function={function}", trace).stdout, (function, text)


HIDDEN = ["pass_", "_pass", "db_pass", "PASS1", "smtpPassword", "pw", "db_pw", "pw2", "passcode"]
SHOWN = ["bypass", "passes", "pass_count", "passenger", "upward", "spwn"]
KEYS = """
import collections
Pair = collections.namedtuple("Pair", "first second")
def look(values): pass
for name in {names}:
    exec(f"def named({{name}}): pass\\nnamed('qzqz' * 3)")
    look({{name: "qzqz" * 3, name.encode(): "qzqz" * 3, ("a", name): "qzqz" * 3, (1, ("b", name.encode())): "qzqz" * 3, Pair(name, 2): "qzqz" * 3}})
"""


@pytest.mark.parametrize("names, is_hidden", [(HIDDEN, True), (SHOWN, False)])
def test_names_that_are_a_word_and_parts_of_tuples(names, is_hidden, record, events):
    """`pass` and `pw` are in many other words."""
    trace = record(KEYS.format(names=names), "--values=args", "--values-for=look", "--values-for=named", "--events=calls", "--no-sources")
    values = [json.dumps(event.get("values")) for event in events(trace, "--kind=PY_START") if event["function"] in ("look", "named")]
    assert len(values) == 2 * len(names)  # each of five is told twice: in the text and in the items
    for name, named, looked in zip(names, values[::2], values[1::2], strict=True):
        found = named.count("qzqzqzqz"), looked.count("qzqzqzqz"), looked.count("<redacted>")
        assert found == ((0, 0, 10) if is_hidden else (1, 10, 0)), (name, named, looked)


@pytest.mark.parametrize("word", ["--pw=hush", "--db-pass=hush", "-pw hush", "--pass hush", "--api-key hush", "--cookie=hush"])
def test_secrets_of_command_lines(word, record, kymo, tmp_path):
    (tmp_path / "a.py").write_text("pass\n")
    trace = record([tmp_path / "a.py", *word.split(), "--pass-count=3", "--bypass", "seen"])
    told = kymo("info", "--json", trace).stdout
    assert "hush" not in told and "[redacted]" in told and "--pass-count=3" in told and "seen" in told
