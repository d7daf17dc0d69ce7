# SPDX-License-Identifier: Apache-2.0
"""What coverage writes into code objects by itself: where, when not, and that it changes nothing but time."""
import pytest

import environments

# Of the loop's lines some places have no LINE event, so that CPython leaves LINE on there; the `raise` never runs.
PROGRAM = """
import opcode, sys

def hot(n):
    total = 0
    for i in range(n):
        for j in (1, 2):
            if i < 0 or j < 0: raise ValueError(i)
            total += i if i % 3 else -j
    if total < 0 and n < 0:
        raise ValueError(total)
    return total

before = hot.__code__.co_code
print(hot(10), hot(1000))
assert hot.__code__.co_code == before
LINE = opcode.opmap["INSTRUMENTED_LINE"]
print("instrumented", sum(op == LINE for op in hot.__code__._co_code_adaptive[::2]))
"""


@pytest.fixture
def run(kymo, tmp_path):
    """run("--no-code-writes"): the program's result, how many LINE places `hot` is left with, and its trace."""
    def run(*options, **env):
        trace = tmp_path / "trace.kymo"
        done = kymo("record", "-qfo", trace, "--events=coverage", *options, "-c", PROGRAM, env=env)
        result, count = done.stdout.splitlines()
        return result, int(count.split()[1]), trace
    return run


@pytest.fixture
def of_hot(events):
    def read(trace):
        names = "event", "line", "offset", "destination"
        return sorted(str([event.get(name) for name in names]) for event in events(trace) if event.get("function") == "hot")
    return read


def test_it_is_done_where_it_was_verified_and_can_be_forbidden(run, of_hot):
    """A CPython whose version is not in the table of pyext/cpython/code_writes.c fails here: read there what to do."""
    result, few, trace = run()
    ours = of_hot(trace)
    forbidden, many, trace = run("--no-code-writes")
    assert (result, ours) == (forbidden, of_hot(trace)) and ours
    assert 0 < few < many
    assert run(KYMO_NO_CODE_WRITES="1")[:2] == (result, many)


@pytest.mark.parametrize("how", ["sys.monitoring.use_tool_id(2, 'another')", "sys.settrace(lambda *args: None)",
                                 "sys.setprofile(lambda *args: None)"])
def test_not_where_somebody_would_see_the_test(how, run, of_hot, build, tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "first.py").write_text(f"import sys\n{how}\n")
    python = environments.make(tmp_path / "venv", build, shared=[folder])
    (environments.site_of(tmp_path / "venv") / "a.pth").write_text(f"import sys; sys.path.append({str(folder)!r}); import first\n")
    expected, many, trace = run("--no-code-writes", KYMO_PYTHON=python)
    lines = of_hot(trace)
    result, count, trace = run(KYMO_PYTHON=python)
    assert (result, count, of_hot(trace)) == (expected, many, lines)


def test_the_test_leaves_nothing_behind(kymo, tmp_path):
    """Its events reach nobody, and its callbacks are gone when those of the recording come."""
    program = ("import sys; print([sys.monitoring.get_tool(i) for i in range(6)], sys.gettrace(), sys.getprofile(), "
               "sys.monitoring._all_events())")
    plain = kymo("record", "-qo", tmp_path / "a.kymo", "--events=coverage", "--no-code-writes", "-c", program)
    tested = kymo("record", "-qo", tmp_path / "b.kymo", "--events=coverage", "-c", program)
    assert plain.stdout == tested.stdout
    for name in "a", "b":
        assert "<kymo>" not in kymo("events", "--jsonl", tmp_path / f"{name}.kymo").stdout
