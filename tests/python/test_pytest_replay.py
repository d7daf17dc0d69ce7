# SPDX-License-Identifier: Apache-2.0
"""Going to a test in a recording of pytest: where it failed, says its own traceback."""
import re
import shlex

import pytest

from dap_client import Client
from pytest_runs import installed, needs, run, suite  # noqa: F401

SUITE = """
    import pytest

    def price(count):
        if count > 2:
            raise ValueError(count)
        return count

    def caught():
        try:
            price(9)
        except ValueError:
            return 1

    @pytest.fixture
    def broken():
        raise KeyError("setup")

    @pytest.fixture
    def ends():
        yield
        raise OSError("teardown")

    def test_passes():
        assert caught() == 1

    @pytest.mark.parametrize("count", [1, 3, 4])
    def test_price(count):
        caught()
        price(count)

    class TestShop:
        def test_assert(self):
            caught()
            total = price(2)
            assert total == 3

    def test_setup(broken):
        pass

    def test_teardown(ends):
        caught()
    """
FAILED = {"test_price[3]": "price", "test_price[4]": "price", "TestShop::test_assert": "test_assert", "test_setup": "broken", "test_teardown": "ends"}


@pytest.fixture(params=["--kymo=retain-on-failure", "--kymo=on"])
def failed(request, suite, run):
    """The run, its trace, and {test: line} of where each failed, as pytest tells it."""
    done = run(suite(SUITE), request.param, "--tb=short", status=1)
    trace, = done.traces
    lines = {}
    for report in re.split(r"^_{3,} (?:ERROR at \w+ of )?", done.stdout, flags=re.M)[1:]:
        name = report.split(" ")[0].replace(".", "::")
        lines[name] = int(re.findall(r"^test_it.py:(\d+): in \w+", report, re.M)[-1])
    assert lines.keys() == FAILED.keys()
    return done, trace, lines


def where(answer):
    line, function = re.findall(r"^> .*test_it\.py\((\d+)\)(?:\w+\.)?(\w+)\(\)$", answer, re.M)[-1]
    return int(line), function


def test_each_test_is_shown_where_it_failed(failed, kymo):
    done, trace, lines = failed
    for name, function in FAILED.items():
        node = f"test_it.py::{name}"
        expected = (lines[name], function)
        part = name.rpartition(":")[2]
        for words, commands in (([f"--test={node}"], ""), ([f"--at=test {node}"], ""), ([], f"goto test {node}\n"), ([], f"goto test {part}\n")):
            answer = kymo("replay", *words, trace, input=commands).stdout
            assert "--RAISE-- " in answer and where(answer) == expected, (words, commands, answer)
        printed, = [line for line in done.stdout.splitlines() if line.startswith(f"{node}: ")]
        command = shlex.split(printed.partition(": ")[2])
        assert command[:2] == ["kymo", "replay"]
        assert where(kymo(*command[1:], cwd=done.folder).stdout) == expected


def test_it_opens_where_the_first_test_failed(failed, kymo):
    _, trace, lines = failed
    answer = kymo("replay", trace).stdout
    assert answer.startswith("--Failed-- test_it.py::test_price[3]; 5 tests failed, goto test NAME leads to another one\n")
    assert where(answer) == (lines["test_price[3]"], "price")
    with Client() as client:
        client.start(trace)
        assert client.where() == ("price", lines["test_price[3]"]) and client.stopped["reason"] == "exception"
    with Client() as client:
        client.start(trace, position="test test_setup")
        assert client.where() == ("broken", lines["test_setup"])


def test_names_that_lead_nowhere_or_to_several(failed, kymo):
    _, trace, _ = failed
    told = kymo("replay", trace, input="goto test price\n", check=False).stdout.splitlines()[-1]
    assert told.startswith("goto: 'price' may be each of ") and "test_it.py::test_price[3], test_it.py::test_price[4]" in told
    done = kymo("replay", "--test=test_nothing", trace, check=False)
    assert (done.returncode, done.stderr) == (1, "kymo: no test 'test_nothing' was recorded\n")


def test_a_test_that_passed_is_shown_from_its_beginning(suite, run, kymo):
    done = run(suite(SUITE), "--kymo=on", status=1)
    answer = kymo("replay", "--test=test_passes", *done.traces, input="").stdout
    assert "--Call--\n" in answer and where(answer)[1] == "test_passes"


def test_without_tests_it_says_so(record, kymo):
    done = kymo("replay", "--test=x", record("print(1)"), check=False)
    assert (done.returncode, done.stderr) == (1, "kymo: no test 'x' was recorded: nothing tells of tests here\n")


def test_the_last_attempt_that_failed_is_shown(suite, run, kymo):
    needs("pytest_rerunfailures")
    done = run(suite("""
        tries = []
        def test_flaky():
            tries.append(1)
            if len(tries) == 1:
                raise KeyError
            if len(tries) == 2:
                raise OSError
        """), "--kymo=retain-on-failure", "--reruns=2")
    assert "--RAISE-- OSError\n" in kymo("replay", *done.traces).stdout
