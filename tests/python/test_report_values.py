# SPDX-License-Identifier: Apache-2.0
"""`kymo report` of a recording with values: what is shown behind lines, and that it stays text."""
import html
import re
import sys

import kymo as kymo_package
import pytest

from test_report import data_of

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
PROGRAM = f"""\
import json

def price(count, password="hunter2"):
    total = count * 10
    total -= 35
    if count == 2:
        raise ValueError({HOSTILE!r})
    return total

def echo(text):
    return text

def count(n):
    while n:
        n -= 1
        yield n

json.dumps([1])
for each in (4, 3, 2):
    try:
        price(each)
    except ValueError:
        pass
list(count(3))
echo({HOSTILE!r})
echo("y" * 150)
echo({HOSTILE!r})
"""


@pytest.fixture(scope="module")
def page(kymo, tmp_path_factory):
    """page(level, *options): the report of a recording of the program."""
    folder = tmp_path_factory.mktemp("values")
    (folder / "program.py").write_text(PROGRAM)

    def make(level, *options):
        kymo("record", "-q", "-f", "-o", "run.kymo", f"--values={level}", "--values-limits=text=100", "--no-stdlib", "program.py", cwd=folder)
        kymo("report", "-f", "-o", "run.html", *options, "run.kymo", cwd=folder)
        return folder / "run.html"
    return make


def behind(path):
    """What is shown behind each line of the program, by the line's text."""
    found = {}
    for code, value in re.findall(r'<td class="text">([^<]*)<span class="value">([^<]*)</span></td>', path.read_text()):
        found[html.unescape(code).strip()] = html.unescape(value)
    return found


def test_lines_have_what_they_left(page):
    path = page("locals")
    told = behind(path)
    assert told['def price(count, password="hunter2"):'] == "count=2, password=<redacted>"
    assert told["total = count * 10"] == "total=20" and told["total -= 35"] == "total=-15"
    assert told["return total"] == "-> -5"
    assert "def count(n):" in told and "while n:" not in told  # that is `-> None`
    assert told["n -= 1"] == "n=0" and told["yield n"] == "-> 0"
    assert told[f"raise ValueError({HOSTILE!r})"].startswith("ValueError('</script><script>")
    parsed, data = data_of(path)  # well-formed, with two scripts
    last = {row[0]: row[9] for row in data["functions"]}
    assert last["price"] == "count=2, password=<redacted>  -> -5" and last["echo"] == f"text={HOSTILE!r}  -> {HOSTILE!r}"
    assert "hunter2" not in path.read_text().replace('"hunter2"', "").replace("&quot;hunter2&quot;", "")
    assert "this page holds what variables held" in path.read_text()


def test_arguments_alone(page):
    told = behind(page("args"))
    assert told['def price(count, password="hunter2"):'] == "count=2, password=<redacted>" and told["return total"] == "-> -5"
    assert "total -= 35" not in told


@pytest.mark.parametrize(("level", "options"), [("none", []), ("args", ["--function=price"]), ("args", ["--thread=none"])])
def test_no_values(page, level, options):
    path = page(level, *options)
    assert behind(path) == {}
    assert not any(row[9] for row in data_of(path)[1]["functions"])


def test_values_take_no_python_call_for_each_event(record, tmp_path):
    """Of millions of events only the last at each line are told: what is done for all of them is done in C."""
    from kymo.profile import report

    (tmp_path / "program.py").write_text("def add(a, b):\n    c = a + b\n    return c\nn = 0\nwhile n < 6000:\n    n = add(n, 1)\n")
    trace = record([tmp_path / "program.py"], "--values=locals", "--no-stdlib")
    calls = 0

    def count(_frame, event, _what):
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert report.main(["report", f"output={tmp_path / 'run.html'}", "--", str(trace)]) == 0
    finally:
        sys.setprofile(before)
    with kymo_package.open(trace) as opened:
        events = sum(1 for _ in opened.events())
    assert behind(tmp_path / "run.html") == {"def add(a, b):": "a=5999, b=1", "c = a + b": "c=6000", "return c": "-> 6000",
                                             "n = add(n, 1)": "n=6000", "n = 0": "n=0"}
    # What there is for each call is what the timeline draws.
    assert events > 30_000 and calls < 3 * events
