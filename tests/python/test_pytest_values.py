# SPDX-License-Identifier: Apache-2.0
"""Values in tests that the pytest plugin records: who asks for them, and where they are shown."""
import re

import pytest

from pytest_runs import installed, run, suite  # noqa: F401 - fixtures

PROGRAM = """
import json
import pytest

def price(count, password="hunter2"):
    total = count * 10
    text = "x" * 200
    total -= 35
    return total

def helper(count):
    json.dumps([count])
    return price(count)

def test_price():
    assert helper(3) > 0
"""


def lines_of(report):
    """The last lines as the report has them: by the text of the source, what is told of values."""
    told = {}
    for line in report.texts[0].partition("thread 1")[2].splitlines():
        if match := re.match(r"  test_it.py:\d+ \S+ +(.*?)(?:  # (.*))?$", line):
            told[match[1]] = match[2]
    return told


@pytest.fixture
def values_of(events):
    """values_of(trace): of each function that has any, the names and texts of what was told first."""
    def read(trace):
        found = {}
        for event in events(trace):
            if event.get("values") and event["function"]:
                found.setdefault(event["function"], {name: value["text"] for name, value in event["values"].items()})
        return found
    return read


def test_a_report_shows_what_lines_had(suite, run, values_of, tmp_path):
    folder = suite(PROGRAM).rename(tmp_path / "[odd] suite")
    done = run(folder, "test_it.py", "--kymo=retain-on-failure", "--kymo-values=locals", "--kymo-last=50", status=1)
    told = lines_of(done.reports["test_price"])
    assert told["total = count * 10"] == "count=3, password=<redacted>"
    assert told['text = "x" * 200'] == "total=30"
    assert told["total -= 35"] == "text='" + "x" * 39 + "…"
    assert told["return total"] == "total=-5  -> -5"
    assert told["json.dumps([count])"] == "count=3" and told["return price(count)"] == "-> -5"
    assert "hunter2" not in done.reports["test_price"].texts[0].partition("thread 1")[2]
    trace, = done.traces
    assert {"price", "helper", "test_price"} >= values_of(trace).keys() >= {"price", "helper"}  # nothing of json


def test_calls_have_their_arguments(suite, run):
    folder = suite(PROGRAM)
    done = run(folder, "--kymo=retain-on-failure", "--kymo-values=args", "--kymo-last=50", status=1)
    assert lines_of(done.reports["test_price"])["total = count * 10"] == "count=3, password=<redacted>"
    done = run(folder, "--kymo=retain-on-failure", "--kymo-values=args", "--kymo-last=50", status=1, env={"KYMO_EVENTS": "calls"})
    assert lines_of(done.reports["test_price"])['def price(count, password="hunter2"):'] == "count=3, password=<redacted>"


@pytest.mark.parametrize("where", ["option", "ini", "table", "tool", "nowhere"])
def test_who_asks_for_values(suite, run, values_of, where):
    folder = suite(PROGRAM)
    if where == "ini":
        (folder / "pytest.ini").write_text("[pytest]\nkymo_values = args\n")
    elif where in ("table", "tool"):
        (folder / "pytest.ini").unlink()
        table = "[tool.kymo.pytest]" if where == "table" else "[tool.kymo]"
        (folder / "pyproject.toml").write_text(f'[tool.pytest.ini_options]\n{table}\nvalues = "args"\n')
    done = run(folder, "--kymo=on", *["--kymo-values=args"] * (where == "option"), status=1)
    found = values_of(done.traces[0])
    assert found.get("price") == (None if where == "nowhere" else {"count": "3", "password": "<redacted>"})
    assert "dumps" not in found  # a library's


def test_the_option_goes_first_and_says_what_is_wrong(suite, run, values_of):
    folder = suite(PROGRAM)
    (folder / "pytest.ini").write_text("[pytest]\nkymo_values = args\n")
    done = run(folder, "--kymo=on", "--kymo-values=none", status=1)
    assert values_of(done.traces[0]) == {}
    (folder / "pytest.ini").write_text("[pytest]\nkymo_values = some\n")
    done = run(folder, "--kymo=on", status=4)
    assert "kymo_values: unknown scope 'some'; use one of none, args, locals, globals" in done.stderr


def test_the_marker_chooses_values(suite, run, values_of):
    done = run(suite("""
        import pytest
        def work(x): return x
        @pytest.mark.kymo(values="args")
        def test_with(): work(1)
        def test_without(): work(2)
        @pytest.mark.kymo(values="some")
        def test_wrong(): work(3)
        """), "--kymo=on")
    assert [found for trace in done.traces if (found := values_of(trace))] == [{"work": {"x": "1"}}]
    assert re.search(r"PytestWarning: kymo: .*some", done.stdout)
