# SPDX-License-Identifier: Apache-2.0
"""Traces of every released version are read as they were when they were made; see tests/golden/README.md."""
import json
import re
from pathlib import Path

import pytest
from kymo_model import BadTrace, Trace

from streams import threads_of

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"


def traces(folder):
    paths = sorted((GOLDEN / folder).glob("*.kymo"))
    assert paths
    return [pytest.param(path, id=path.stem) for path in paths]


def expected(path):
    path = path.with_suffix(".jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def check_times(got, want):
    """Times may become better known than they were, but never others."""
    for a, b in zip(got, want, strict=True):
        distance = abs(a.pop("t_ns") - b.pop("t_ns"))
        assert distance <= a.pop("t_err_ns") + b.pop("t_err_ns") + 1


@pytest.mark.parametrize("path", traces("v1"))
def test_a_golden_trace_is_read_as_ever(path, events):
    got, want = threads_of(events(path)), threads_of(expected(path))
    assert want
    for thread in got.keys() | want.keys():
        check_times(got[thread], want[thread])
        assert got[thread] == want[thread]


@pytest.mark.parametrize("path", traces("v1"))
def test_the_model_reads_it_too(path):
    got = threads_of(event for stream in Trace(path).events().values() for event in stream)
    want = threads_of(expected(path))
    assert {thread: len(events) for thread, events in got.items()} == {t: len(events) for t, events in want.items()}
    for thread, events in want.items():
        for ours, theirs in zip(got[thread], events):
            common = ours.keys() & theirs.keys() - {"t_ns", "t_err_ns"}
            assert {name: ours[name] for name in common} == {name: theirs[name] for name in common}


@pytest.mark.parametrize("path", traces("v1"))
def test_it_is_found_good(path, kymo):
    assert "good" in kymo("verify", path).stdout


@pytest.mark.parametrize("path", traces("golden-errors"))
def test_what_is_wrong_is_named_and_what_is_intact_is_read(path, kymo):
    done = kymo("events", "--jsonl", path.name, cwd=path.parent, check=False)
    assert f"status {done.returncode}\n{done.stderr}" == path.with_suffix(".txt").read_text()
    got = [json.loads(line) for line in done.stdout.splitlines()]
    want = expected(path)
    check_times(got, want)
    assert got == want


@pytest.mark.parametrize("path", traces("golden-errors"))
def test_it_is_not_found_good(path, kymo):
    done = kymo("verify", path, check=False)
    assert done.returncode and "good" not in done.stdout


@pytest.mark.parametrize("path", traces("golden-errors"))
def test_the_model_refuses_the_same_files(path):
    is_refused = path.with_suffix(".txt").read_text().startswith("status 1")
    try:
        trace = Trace(path)
    except BadTrace:
        assert is_refused
    else:
        assert not is_refused and trace.damage


def dump_lines(text):
    """(offset, bytes) of each line that looks like a dump."""
    for offset, dump in re.findall(r"^    ([0-9a-f]{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})", text, re.M):
        yield int(offset, 16), bytes.fromhex(dump)


def test_the_example_of_the_document_is_the_file():
    text = (ROOT / "docs" / "format.md").read_text()
    example = GOLDEN / "v1" / "example.kymo"
    data, lines = example.read_bytes(), list(dump_lines(text))
    assert len(lines) > 50
    for offset, dump in lines:
        assert data[offset:offset + len(dump)] == dump, f"at {offset:#x}"
    printed = [json.loads(line) for line in re.findall(r'^    (\{"pid".*)$', text, re.M)]
    assert printed == expected(example)
