# SPDX-License-Identifier: Apache-2.0
"""The project's own code is shown, other code is folded with a count: one rule for all verbs."""

import itertools
import json
import re
import subprocess
import sys

import pytest
from conftest import KYMO, environment
from dap_client import client  # noqa: F401
from kymo._project import Project

PROGRAM = """
import json
import threading

def add(a, b):
    return json.loads(json.dumps(a + b))

def work():
    add(1, 2)
    add(3, 4)

thread = threading.Thread(target=work)
thread.start()
thread.join()
json.dumps("the last")
"""


@pytest.fixture(scope="module")
def trace(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.py").write_text(PROGRAM)
    kymo("record", "-q", "-o", folder / "mine.kymo", folder / "mine.py")
    return folder / "mine.kymo"


def events(kymo, trace):
    return [json.loads(line) for line in kymo("events", "--jsonl", trace).stdout.splitlines()]


def by_regex(file, prefixes):
    """The rule a second time, by regular expressions."""
    if file.startswith("<"):
        return bool(re.match("<(stdin|stdin-.*|python-input-.*|ipython-input-.*|doctest .*)>", file))
    if re.match(r".*/lib(64)?/python3(\.\d+t?)?/", file) or re.match(r".*/python3\d+\.zip/", file):
        return False
    if re.match(r".*/(site|dist)-packages/", file) or file.endswith("/kymo/inject/sitecustomize.py"):
        return False
    return not any(re.fullmatch(re.escape(prefix) + r"/bin/[^/]*", file) for prefix in prefixes)


def test_what_is_the_projects_by_two_rules():
    parts = ["", "/usr", "/home/me", "/lib", "/lib64", "/python3", "/python3.13", "/python3.13t", "/python313.zip", "/python3.x", "/bin", "/src",
             "/site-packages", "/kymo/inject"]  # fmt: skip
    files = [f"{''.join(folders)}/{name}" for folders in itertools.product(parts, repeat=3) for name in ("a.py", "sitecustomize.py", "pytest")]
    files += ["a.py", "<string>", "<frozen runpy>", "<stdin>", "<ipython-input-3-ab>", "<doctest x[0]>", "<attrs generated init A>", ""]
    prefixes = {match[1] for file in files if (match := re.match(r"(.*?)/lib(?:64)?/python3(?:\.\d+t?)?/", file)) and match[1]}
    few = [f"{prefix}/lib/python3.13/os.py" for prefix in ("/usr", "/home/me")]
    project = Project(files=few)
    wrong = [file for file in files if file and project.has(file) != by_regex(file, ["/usr", "/home/me"])]
    assert not wrong and not project.has("")
    everywhere = Project(files=files)
    assert not [file for file in files if file and everywhere.has(file) != by_regex(file, prefixes)]
    assert len({project.has(file) for file in files}) == 2


@pytest.mark.parametrize(("words", "is_own"), [
    (["-c", "pass"], True), (["-Bc", "pass"], True), (["-X", "dev", "-Wonce", "-c", "pass"], True),
    (["-m", "this"], False), (["-Bm", "calendar", "-c", "x.css"], False), (["a.py", "-c"], False), (["-W", "once", "a.py"], False),
])  # fmt: skip
def test_what_is_given_by_c_is_the_projects(kymo, tmp_path, words, is_own):
    (tmp_path / "a.py").write_text("eval('1')")
    kymo("record", "-q", "-o", tmp_path / "c.kymo", "--", sys.executable, *words, cwd=tmp_path)
    assert Project(tmp_path / "c.kymo").has("<string>") == is_own


def test_a_trace_without_code_of_the_project_is_shown_whole(kymo, tmp_path):
    kymo("record", "-q", "-o", tmp_path / "this.kymo", "-m", "this")
    assert Project(tmp_path / "this.kymo").is_absent
    assert kymo("tail", tmp_path / "this.kymo").stdout == kymo("tail", "--all", tmp_path / "this.kymo").stdout


def shown_by_tail(text):
    """Of each thread: numbers are counts of what is folded; else kinds and places."""
    threads = []
    for line in text.splitlines():
        if line.startswith("  thread "):
            threads.append([])
        elif match := re.match(r" +… +([\d,]+) events? of other code \(--all\)(, the last: \S+ .*)?$", line):
            threads[-1].append((int(match[1].replace(",", "")), match[2]))
        elif line.startswith("    "):
            kind, place = line.split(maxsplit=2)[1:]
            threads[-1].append((kind, place.split("  ")[0]))
    return threads


@pytest.mark.parametrize("count", [1, 7, 100000])
def test_tail(kymo, trace, count):
    """Against all events, folded here."""
    threads = {}
    for event in events(kymo, trace):
        threads.setdefault(event["tid"], []).append(event)
    shown = shown_by_tail(kymo("tail", "-n", count, trace).stdout)
    assert len(shown) == len(threads) == 2
    for of, lines in zip(threads.values(), shown):
        expected, folded = [], 0
        for event in of:
            if not event["file"].endswith("/mine.py"):
                folded += 1
                continue
            if folded and expected:
                expected.append((folded, None))
            folded = 0
            expected.append((event["event"], f"{event['file']}:{event['line']} {event['function']}"))
        kept = [at for at, line in enumerate(expected) if not isinstance(line[0], int)][-count:]
        expected = expected[kept[0]:]
        if folded:
            last = of[-1]
            expected.append((folded, f", the last: {last['event']} {last['file']}:{last['line']} {last['function']}"))
        assert lines == expected


def test_tail_of_all_and_of_files(kymo, trace):
    everything = kymo("tail", "--all", "-n", 20, trace).stdout
    assert "…" not in everything and "threading.py" in everything
    for name in "threading.py", "json/__init__.py":
        told = shown_by_tail(kymo("tail", "--file", name, "-n", 20, trace).stdout)
        assert [place for thread in told for _, place in thread if f"/{name}:" not in place] == []
        assert sum(map(len, told)) >= 20
        as_json = json.loads(kymo("tail", "--json", "--file", name, "-n", 20, trace).stdout)["processes"][0]["threads"]
        assert [len(thread["events"]) for thread in as_json] == [len(thread) for thread in told]
    # Programs get all.
    as_json = json.loads(kymo("tail", "--json", "-n", 1000000, trace).stdout)["processes"][0]["threads"]
    assert sum(len(thread["events"]) for thread in as_json) == len(events(kymo, trace))
    done = kymo("tail", "--all", "--file", "x.py", trace, check=False)
    assert (done.returncode, done.stdout) == (2, "")


def test_files_of_events(kymo, trace):
    """A pattern with a slash may begin at any folder."""
    wanted = [event for event in events(kymo, trace) if event["file"].endswith("/json/__init__.py")]
    for pattern in "json/__init__.py", "json/__init_?.py", "*/json/__init__.py", wanted[0]["file"]:
        told = kymo("events", "--jsonl", "--file", pattern, trace).stdout.splitlines()
        assert [json.loads(line) for line in told] == wanted


DEEP = """
import json

def leaf(pairs):
    raise ValueError(pairs)

def between(pairs):
    return json.loads('{"b": 1}', object_pairs_hook=leaf)

json.loads('{"a": 1}', object_pairs_hook=between)
"""


@pytest.fixture(scope="module")
def deep(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    (folder / "deep.py").write_text(DEEP)
    kymo("record", "-q", "--clock=exact", "-o", folder / "deep.kymo", folder / "deep.py", check=False)
    return folder / "deep.kymo"


def stacks(kymo, trace, *commands):
    """What `where` prints, as places and counts; the place that is shown at first comes before it."""
    text = kymo("replay", trace, input="\n".join(["zzz", *commands]), check=False).stdout.partition("them\n")[2]
    found = re.findall(r"^([> ]) (?:(\S+)\((\d+)\)(\S+)\(\)|… (\d+) frames? of other code \(where --all\))$", text, re.M)
    return [int(count) if count else (mark, file, int(line), function) for mark, file, line, function, count in found]


@pytest.mark.parametrize(("words", "is_shown"), [
    ("", "/deep.py"), (" decoder.py", "/decoder.py"), (" json/*", "/json/"), (" none.py", "none"),
])  # fmt: skip
@pytest.mark.parametrize("up", [0, 2, 5])
def test_where(kymo, deep, words, is_shown, up):
    ups = [f"up {up}"] * bool(up)
    everything = stacks(kymo, deep, *ups, "where --all")[bool(up):]
    assert len(everything) == 9 and not any(isinstance(frame, int) for frame in everything)
    expected = []
    for number, frame in enumerate(everything):
        if frame[0] == ">" or number == 8 or is_shown in frame[1]:
            expected.append(frame)
        elif expected and isinstance(expected[-1], int):
            expected[-1] += 1
        else:
            expected.append(1)
    assert stacks(kymo, deep, *ups, f"where{words}")[bool(up):] == expected
    assert any(isinstance(frame, int) for frame in expected)


def test_callers_in_other_code_are_subtle_in_editors(deep, client):
    client.start(deep, {}, stopOnEntry=True)
    hints = [(frame["name"], frame.get("presentationHint")) for frame in client.frames()]
    assert len(hints) == 9 and hints == [
        (name, None if name in ("leaf", "between", "<module>") else "subtle") for name, _ in hints]


def rows_of_top(text):
    """Calls, the place, and how many functions are folded."""
    rows = []
    for calls, what in re.findall(r"^ *(\d+)[* ] +\S+ \w+ +(?:\S+ \w+)?  +(\S.*)$", text, re.M):
        folded = re.fullmatch(r"… (\d+) functions? of other code \(--all\)", what)
        rows.append((int(calls), "" if folded else what.partition("  ")[2], int(folded[1]) if folded else 0))
    return rows


def test_top(kymo, deep):
    everything = rows_of_top(kymo("top", "--all", "-n", 100000, deep).stdout)
    own = [row for row in everything if "/deep.py:" in row[1]]
    other = [row for row in everything if row not in own]
    assert len(own) == 3 and len(other) > 20
    assert sorted(rows_of_top(kymo("top", deep).stdout)) == sorted([*own, (sum(row[0] for row in other), "", len(other))])
    for pattern in "decoder.py", "json/*r.py":
        told = rows_of_top(kymo("top", "--file", pattern, "-n", 100, deep).stdout)
        wanted = [row for row in everything if re.search(pattern.replace("*", ".*"), row[1])]
        assert sorted(told) == sorted(wanted) and len(told) > 2


@pytest.mark.parametrize(("words", "folded", "left_out"), [([], True, False), (["--all"], False, False), (["--file=deep.py"], False, True)])
def test_report(kymo, deep, tmp_path, words, folded, left_out):
    kymo("report", "-o", tmp_path / "page.html", *words, deep)
    text = (tmp_path / "page.html").read_text()
    own, _, other = text.partition('<details id="other-files">')
    files = [re.findall("<summary><code>(.*?)</code>", part) for part in (own, other)]
    # Where all are shown, there may be no room for it.
    assert words == ["--all"] or any(file.endswith("/deep.py") for file in files[0])
    assert bool(files[1]) == folded == ('<input id="others"' in text) and not any(file.endswith("/deep.py") for file in files[1])
    assert words == ["--all"] or not any(file.endswith("/decoder.py") for file in files[0])
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.S)[1])
    flags = {(row[1].endswith(tuple(f"deep.py:{line}" for line in range(20))), row[10]) for row in data["functions"]}
    assert flags == ({(True, 0), (False, 0)} if words == ["--all"] else {(True, 0), (False, 1)})
    assert data["is_filtered"] == left_out


LIBRARY = "def helper(number):\n    return number + 1\n"
VALUED = "import helping\n\ndef own(number):\n    return helping.helper(number)\n\nown(3)\n"


@pytest.mark.parametrize(("words", "functions"), [
    ([], {"own"}), (["--values-for=helper"], {"helper"}), (["--values-for=*"], {"own", "helper"}),
])  # fmt: skip
def test_values_are_those_of_the_project(kymo, tmp_path, words, functions):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "helping.py").write_text(LIBRARY)
    (tmp_path / "app.py").write_text(VALUED)
    trace = tmp_path / "app.kymo"
    kymo("record", "-q", "-o", trace, "--values=args", *words, tmp_path / "app.py", env={"PYTHONPATH": str(folder)})
    told = {event["function"] for event in events(kymo, trace) if "number" in event.get("values", {})}
    assert told == functions
    values = json.loads(kymo("info", "--json", trace).stdout)["session"]["values"]
    assert values["project"] == (not words)
    assert ("in files of the project" in kymo("info", trace).stdout) == (not words)


def test_in_a_program_values_are_those_of_the_project_too(kymo, importing, tmp_path):
    (tmp_path / "app.py").write_text("import kymo\nwith kymo.record('app.kymo', values='args'):\n    exec('import json; json.dumps(1)')\n")
    subprocess.run([sys.executable, "app.py"], env=environment(importing), cwd=tmp_path, check=True)
    told = [event for event in events(kymo, tmp_path / "app.kymo") if event.get("values")]
    assert json.loads(kymo("info", "--json", tmp_path / "app.kymo").stdout)["session"]["values"]["project"] and not told


GROWING = """
import os, sys

def large(text):
    return len(text)

for _ in range(26000):
    large(os.urandom(4000))
print("done", flush=True)
sys.stdin.read()
"""


def test_a_trace_that_grows_large_by_values_is_told(tmp_path):
    (tmp_path / "grow.py").write_text(GROWING)
    words = [KYMO, "record", "-o", "grow.kymo", "--values=args", "--values-limits=text=4000,bytes=8000", "grow.py"]
    with subprocess.Popen(words, env=environment(), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as done:  # fmt: skip
        told = done.stderr.readline()
        out, rest = done.communicate()
    assert re.fullmatch(r"kymo: values make grow.kymo large: \S+ MB after .*, at this rate \S+ [GM]B a minute; --values-for .*\n", told)
    assert out == "done\n" and re.fullmatch(r"kymo: recorded grow.kymo \(.* MB\)\n", rest) and done.returncode == 0


LIMITS = {"KYMO_VALUES_LIMITS": "text=4000,bytes=8000"}


def test_a_large_trace_says_so_where_nobody_could_be_told(kymo, tmp_path, importing):
    growing = GROWING.replace("sys.stdin.read()", "kymo.stop()").replace("for _", "kymo.start('grow.kymo', values='args')\nfor _")
    (tmp_path / "grow.py").write_text("import kymo\n" + growing)
    done = subprocess.run([sys.executable, "grow.py"], env=environment({**importing, **LIMITS}), cwd=tmp_path, capture_output=True, text=True,
                          check=True)  # fmt: skip
    assert (done.stdout, done.stderr) == ("done\n", "")
    told = kymo("info", tmp_path / "grow.kymo").stdout
    assert re.search(r"^size .*\n +values make it large, \S+ [GM]B a minute: --values-for ", told, re.M)


def test_the_end_of_pytest_says_that_values_are_large(kymo, tmp_path, importing):
    growing = GROWING.replace('print("done", flush=True)\nsys.stdin.read()\n', "")
    (tmp_path / "test_grow.py").write_text(growing.replace("for _", "def test_it():\n  for _"))
    run = [sys.executable, "-m", "pytest", "-p", "no:asyncio", "-W", "error", "-p", "kymo.pytest_plugin", "--kymo=on", "--kymo-values=args"]
    told = [subprocess.run([*run, *more], env=environment({**importing, **LIMITS}), cwd=tmp_path,
                           capture_output=True, text=True, check=True).stdout for more in ([], ["--kymo-values=none"])]  # fmt: skip
    assert re.search(r"kymo: values make pytest-\S+\.kymo large: \d+ MB, \d+ MB a minute; values-for in \[tool.kymo\] ", told[0])
    assert "large" not in told[1]
