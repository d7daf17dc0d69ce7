# SPDX-License-Identifier: Apache-2.0
"""Tests that are recorded by the pytest plugin: what is kept of them, and what their reports say."""
import itertools
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from pytest_runs import installed, marks, needs, run, suite  # noqa: F401 - fixtures

MIXED = """
import json, sys, threading, unittest
import pytest

def work(value):
    total = 0
    for number in range(value):
        total += number
    return total

@pytest.fixture(scope="module")
def shared():
    yield work(3)

@pytest.fixture
def own(shared):
    yield shared
    work(1)

def test_first(own):
    assert work(4) == 6

@pytest.mark.parametrize("value", [1, 2])
def test_parametrised(own, value):
    assert work(value) == 0

class Case(unittest.TestCase):
    def tearDown(self):
        work(6)

    def test_of_unittest(self):
        self.assertEqual(work(2), 5)

@pytest.fixture
def broken():
    work(2)
    raise RuntimeError

def test_setup(broken):
    pass

@pytest.fixture
def leaking():
    yield
    work(2)
    raise RuntimeError

def test_teardown(leaking):
    work(1)

@pytest.mark.skip
def test_skipped():
    pass

@pytest.mark.xfail
def test_expected():
    assert work(1)
"""


def outcomes(texts):
    """[(outcome, attempt, test)] of the marks at the ends of tests, and their phases."""
    ends, phases = [], []
    for text in texts:
        if match := re.fullmatch(r"phase:(\w+\|\w+)", text):
            phases.append(match[1])
        elif match := re.fullmatch(r"test:(?!start)(\w+)\|(\d+)\|test_it.py::(.*)", text):
            ends.append((match[1], int(match[2]), match[3], *phases))
            phases = []
    return ends


FAILED = [
    ("failed", 1, "test_parametrised[2]", "setup|passed", "call|failed", "teardown|passed"),
    ("failed", 1, "Case::test_of_unittest", "setup|passed", "call|failed", "teardown|passed"),
    ("failed", 1, "test_setup", "setup|failed", "teardown|passed"),
    ("failed", 1, "test_teardown", "setup|passed", "call|passed", "teardown|failed"),
]


def test_what_failed_is_kept_with_the_fixtures_that_it_used(suite, run, marks, events):
    done = run(suite(MIXED), "--kymo=retain-on-failure", status=1)
    trace, = done.traces
    assert outcomes(marks(trace)) == FAILED
    ran = Counter(event["function"] for event in events(trace, "--kind=PY_START"))
    assert ran["shared"] == 1 and ran["test_parametrised"] == 1 and ran["broken"] == 1 and ran["leaking"] == 1
    assert not ran["test_first"] and not ran["test_expected"] and not ran["pytest_pyfunc_call"]
    # What a test that failed did not end with is not lost, and what was dropped is counted.
    gaps = events(trace, "--kind=GAP")
    assert gaps and {gap["why"] for gap in gaps} == {"discarded"}


@pytest.mark.parametrize("how", [["--kymo-runner"], ["-o", "kymo_runner=true"]])
def test_the_runner_itself_is_recorded_on_demand(how, suite, run, marks, events):
    done = run(suite(MIXED), "--kymo=retain-on-failure", *how, status=1)
    trace, = done.traces
    assert outcomes(marks(trace)) == FAILED
    # Other plugins may have hooks of the same name.
    ran = Counter((Path(event["file"]).name, event["function"]) for event in events(trace, "--kind=PY_START"))
    assert ran["python.py", "pytest_pyfunc_call"] == ran["test_it.py", "test_parametrised"] + ran["test_it.py", "test_teardown"] == 2
    # Its lines are in no report.
    lines, = done.reports["test_parametrised[2]"].threads.values()
    assert {file for file, *_ in lines} == {"test_it.py"}


def test_everything_is_kept(suite, run, marks):
    done = run(suite(MIXED), "--kymo=on", status=1)
    trace, = done.traces
    seen = outcomes(marks(trace))
    assert [end for end in seen if end[0] == "failed"] == FAILED
    assert [end[:3] for end in seen if end[0] != "failed"] == [
        ("passed", 1, "test_first"), ("passed", 1, "test_parametrised[1]"), ("skipped", 1, "test_skipped"), ("xfailed", 1, "test_expected")]
    assert {name for name, report in done.reports.items() if report.traces == [f"kymo-traces/{trace.name}"]} == {*done.reports}


@pytest.mark.parametrize("mode", ["retain-on-failure", "retain-on-first-failure", "off"])
def test_where_nothing_failed_nothing_is_left(mode, suite, run):
    done = run(suite(MIXED), f"--kymo={mode}", "-k", "first or parametrised and 1 or skipped or expected")
    assert done.traces == [] and "kymo replay" not in done.stdout


def test_attempts_are_told_apart(suite, run, marks):
    needs("pytest_rerunfailures")
    folder = suite("""
        tries = []
        def test_flaky():
            tries.append(1)
            assert len(tries) == 3
        def test_good():
            pass
        def test_bad():
            assert tries == []
        """)
    for mode, expected in (
        ("retain-on-failure", [("failed", 1, "test_flaky"), ("failed", 2, "test_flaky"), ("passed", 3, "test_flaky"),
                               *(("failed", number, "test_bad") for number in (1, 2, 3))]),
        ("retain-on-first-failure", [("failed", 1, "test_flaky"), ("failed", 1, "test_bad")]),
    ):
        done = run(folder, f"--kymo={mode}", f"--kymo-dir={mode}", "--reruns=2", status=1)
        trace, = (folder / mode).iterdir()
        assert [end[:3] for end in outcomes(marks(trace))] == expected
        assert f"test_it.py::test_flaky failed 2 times: kymo replay --test=test_it.py::test_flaky {mode}/{trace.name}" in done.stdout


@pytest.mark.parametrize("options", [["--kymo=retain-on-failure"], ["--kymo=on"], ["--kymo=retain-on-failure", "-n2"]], ids=" ".join)
def test_a_report_ends_with_the_lines_up_to_the_failure(options, suite, run):
    """The oracle is another tool of sys.monitoring, in the test itself."""
    needs(*["xdist"] * ("-n2" in options))
    folder = suite("""
        import contextlib, json, sys
        lines = []
        def watch(code, line):
            lines.append((code.co_filename.rpartition("/")[2], line, code.co_qualname))
        def deeper(value):
            for number in range(value):
                yield number
        @contextlib.contextmanager
        def inside():
            yield 1
        def work(value):
            with inside():
                total = sum(n for n in deeper(value))
            if total > 30:
                raise ValueError(total)
            return total
        def test_watched():
            monitoring = sys.monitoring
            monitoring.use_tool_id(1, "watch")
            monitoring.register_callback(1, monitoring.events.LINE, watch)
            monitoring.set_events(1, monitoring.events.LINE)
            try:
                for value in range(30):
                    work(value)
            finally:
                monitoring.set_events(1, 0)
                monitoring.free_tool_id(1)
                with open("lines.json", "w") as file:
                    json.dump(lines, file)
        """)
    report = run(folder, *options, "--kymo-last=40", status=1).reports["test_watched"]
    seen = [(Path(file).name, line, function) for file, line, function in report.threads["MainThread"]]
    everything = [tuple(line) for line in json.loads((folder / "lines.json").read_text())]
    watched = [line for line in everything if line[0] == "test_it.py"]
    # What the finally runs is not what failed.
    raised = max(at for at, line in enumerate(watched) if line[2] == "work")
    assert len(seen) == 40
    assert seen == watched[:raised + 1][-40:]
    # Lines of contextlib are counted where they were.
    counts = [len([*group]) for is_other, group in itertools.groupby(everything, lambda line: line[0] != "test_it.py") if is_other]
    folded = [int(count) for count in re.findall(r"… (\d+) lines? of other code", report.texts[0])]
    # A worker has another thread, whose lines nobody watched.
    others = set(folded) - set(counts)
    assert len(folded) > 1 and max(folded) > 1 and len(set(folded) - others) > 1 and len(others) <= ("-n2" in options)


def test_the_last_line_is_where_it_was_raised(suite, run):
    reports = run(suite(MIXED), "--kymo=retain-on-failure", "--kymo-last=60", status=1).reports
    text = [line.strip() for line in MIXED.splitlines()]
    for name, file_line in (("test_parametrised[2]", "assert work(value) == 0"), ("test_setup", "raise RuntimeError"),
                            ("test_teardown", "raise RuntimeError")):
        file, line, _ = reports[name].threads["MainThread"][-1]
        assert (file, text[line - 1]) == ("test_it.py", file_line)
        assert f"trace: {reports[name].traces[0]}" in reports[name].texts[0]
    # unittest raises it in a method of its own.
    assert any(text[line - 1].startswith("self.assertEqual") for file, line, _ in reports["test_of_unittest"].threads["MainThread"]
               if file == "test_it.py")
    assert Path(reports["test_of_unittest"].threads["MainThread"][-1][0]).parts[-2:] == ("unittest", "case.py")


def test_lines_of_other_threads_and_of_async_tests(suite, run):
    needs("pytest_asyncio")
    folder = suite("""
        import asyncio, threading
        import pytest
        ready, stop = threading.Event(), threading.Event()
        def wait():
            ready.set()
            stop.wait()
        def test_threads():
            thread = threading.Thread(target=wait, name="waiter")
            thread.start()
            ready.wait()
            try:
                raise ValueError
            finally:
                stop.set()
                thread.join()
        @pytest.mark.asyncio
        async def test_async():
            await asyncio.sleep(0)
            assert (await asyncio.gather(asyncio.sleep(0, 5))) == 6
        """)
    reports = run(folder, "--kymo=retain-on-failure", "--kymo-last=200", status=1).reports
    threads = reports["test_threads"].threads
    assert threads["MainThread"][-1] == ("test_it.py", 13, "test_threads")
    assert ("test_it.py", 7, "wait") in threads["waiter"]
    assert reports["test_async"].threads["MainThread"][-1] == ("test_it.py", 20, "test_async")
    assert "waiter" not in reports["test_async"].threads


def test_the_marker_chooses_events(suite, run, events):
    folder = suite("""
        import pytest
        @pytest.mark.kymo(events="LINE")
        def test_lines(): assert 0
        def test_calls(): assert 0
        @pytest.mark.kymo(events="nothing")
        def test_wrong(): assert 1
        def test_again(): assert 0
        """)
    done = run(folder, "--kymo=on", status=1, env={"KYMO_EVENTS": "calls"})
    kinds = {}
    for trace in done.traces:
        for event in events(trace):
            if event["function"] and event["function"].startswith("test_") and event["event"] != "MARK":
                kinds.setdefault(event["function"], set()).add(event["event"])
    assert kinds["test_lines"] == {"LINE"} and "LINE" not in kinds["test_calls"] and kinds["test_again"] == kinds["test_calls"]
    assert "test_wrong" not in kinds
    assert re.search(r"PytestWarning: kymo: .*nothing", done.stdout)


def test_marks_of_a_test(suite, run, marks):
    folder = suite("""
        def test_it(kymo_recorder):
            kymo_recorder.mark("half of it")
            assert not kymo_recorder.is_recording
        """)
    trace, = run(folder, "--kymo=retain-on-failure", status=1).traces
    texts = marks(trace)
    assert texts[0] == "test:start|1|test_it.py::test_it" and texts[3] == "context:test_it.py::test_it|run"
    assert texts[4:6] == ["half of it", "context:"] and texts[-1] == "test:failed|1|test_it.py::test_it"


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "workers"])
def test_what_cannot_be_recorded_is_one_warning(workers, suite, run):
    needs(*["xdist"] * bool(workers))
    done = run(suite(MIXED), "--kymo=retain-on-failure", *workers, "-p", "no:asyncio", "-W", "error", status=1, env={"KYMO_PROGRAM": "/nowhere"})
    assert done.stdout.count("kymo: program not found: /nowhere") == 1
    assert "2 failed, 3 passed, 1 skipped, 1 xfailed" in done.stdout and "2 errors" in done.stdout
    assert done.traces == []


def test_settings_from_files(suite, run):
    folder = suite("def test_it(): assert 0")
    (folder / "pytest.ini").write_text("[pytest]\nkymo = on\nkymo_dir = there\nkymo_last = 3\n")
    run(folder, status=1)
    assert len(list((folder / "there").iterdir())) == 1
    (folder / "pytest.ini").unlink()
    table = '[tool.pytest.ini_options]\n[tool.kymo]\nevents = "calls"\n[tool.kymo.pytest]\nmode = "on"\ndir = "here"\n'
    (folder / "pyproject.toml").write_text(table)
    run(folder, status=1)
    trace, = (folder / "here").iterdir()
    run(folder, "--kymo=off", "--kymo-dir=nowhere", status=1)
    assert not (folder / "nowhere").exists()
    for wrong, why in ("mods = 1", "unknown option"), ('mode = "always"', "unknown mode 'always'"), ("last = -1", "not a number"):
        (folder / "pyproject.toml").write_text(f"{table.replace('mode', '#')}{wrong}\n")
        done = run(folder, status=4)
        assert re.search(f"^ERROR: .*{why}.*\n", done.stderr, re.M)


def test_the_steps_summary(suite, run, tmp_path):
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    done = run(suite(MIXED), "--kymo=retain-on-failure", status=1, env={"GITHUB_STEP_SUMMARY": path})
    text = path.read_text()
    assert text.startswith("before\n###")
    for name, report in done.reports.items():
        assert (f"::{name}`" in text) == bool(report.texts)
        assert all(f"`{trace}`" in text for trace in report.traces)
    assert text.count("<details>") == text.count("</details>") == 4


def test_a_time_out(suite, run):
    needs("pytest_timeout")
    folder = suite("""
        import threading
        def test_hangs():
            threading.Event().wait()
        def test_good():
            pass
        """)
    reports = run(folder, "--kymo=retain-on-failure", "--timeout=1", status=1).reports
    assert reports["test_hangs"].threads["MainThread"][-1][2] == "Condition.wait"
    assert not reports["test_good"].traces


def test_coverage_is_the_same(suite, run):
    needs("pytest_cov")
    from coverage import CoverageData

    folder, found = suite(MIXED), []
    for mode in "off", "on":
        run(folder, f"--kymo={mode}", "--cov=.", "--cov-branch", "--cov-context=test", "--cov-report=", status=1)
        data = CoverageData(str(folder / ".coverage"))
        data.read()
        found.append({line: {*contexts} for line, contexts in data.contexts_by_lineno(str(folder / "test_it.py")).items()})
    assert found[0] == found[1] and len(found[0]) > 20


def test_many_workers_lose_nothing(suite, run, marks, events):
    needs("xdist")
    folder = suite("""
        import pytest
        @pytest.mark.parametrize("number", range(200))
        def test_it(number):
            assert number % 50
        """)
    done = run(folder, "-n8", "--kymo=on", "--kymo-dir=all", status=1)
    ends = [end for trace in (folder / "all").iterdir() for end in outcomes(marks(trace))]
    assert sorted(end[2] for end in ends) == sorted(f"test_it[{number}]" for number in range(200))
    assert not [gap for trace in (folder / "all").iterdir() for gap in events(trace, "--kind=GAP,UNKNOWN")]
    done = run(folder, "-n8", "--kymo=retain-on-failure", status=1)
    ends = [end for trace in done.traces for end in outcomes(marks(trace))]
    assert sorted(end[:3] for end in ends) == sorted(("failed", 1, f"test_it[{number}]") for number in range(0, 200, 50))
    assert {f"test_it[{number}]" for number in range(0, 200, 50)} == {name for name, report in done.reports.items() if report.traces}


def test_a_pytest_inside_a_test_belongs_to_it(suite, run, marks):
    folder = suite("""
        pytest_plugins = ["pytester"]
        def test_outer(pytester):
            pytester.makepyfile("def test_inner(): assert 0")
            pytester.runpytest_inprocess("--kymo=retain-on-failure", "-q").assert_outcomes(failed=1)
            pytester.runpytest_inprocess("--kymo=on").assert_outcomes(failed=1)
            assert not list(pytester.path.glob("kymo-traces/*"))
            assert 0
        def test_after(): assert 0
        """)
    done = run(folder, "--kymo=retain-on-failure", status=1)
    trace, = done.traces
    assert [end[:3] for end in outcomes(marks(trace))] == [("failed", 1, "test_outer"), ("failed", 1, "test_after")]


DYING = """
import ctypes, os, signal, sys
import pytest

def say(file):
    frame = sys._getframe(1)
    with open(file, "w") as out:
        out.write(f"{frame.f_code.co_qualname} {frame.f_lineno + 1}")

def kill(file):
    say(file)
    os.kill(os.getpid(), signal.SIGKILL)

def fault(file):
    say(file)
    ctypes.string_at(0)

def leave(file):
    say(file)
    os._exit(3)

def test_good(): pass

@pytest.mark.parametrize("way", [kill, fault, leave])
@pytest.mark.parametrize("profile", ["flow", pytest.param("LINE", marks=pytest.mark.kymo(events="LINE"))])
def test_death(way, profile):
    for n in range(100):
        pass
    way(f"{way.__name__}-{profile}")
"""
ENDS = {"kill": "killed by SIGKILL", "fault": "killed by SIGSEGV", "leave": "exited with status 3"}


def test_a_dead_workers_report(suite, run):
    """The oracle is what the worker wrote to a file before the line in which it died."""
    needs("xdist")
    folder = suite(DYING)
    done = run(folder, "-n2", "--kymo=retain-on-failure", "-p", "no:faulthandler", status=1)
    parts = re.split(r"^worker '\w+' crashed while running ", done.stdout, flags=re.M)[1:]
    assert len(parts) == 6 and "1 passed" in done.stdout
    for part in parts:
        profile, way = re.match(r"'test_it.py::test_death\[(\w+)-(\w+)\]'", part).groups()
        function, line = (folder / f"{way}-{profile}").read_text().split()
        lines = re.findall(r"^  (\S+):(\d+) (\S+)", re.search(r"^thread 1 'MainThread':\n((?:  .*\n)+)", part, re.M)[1], re.M)
        own = [(found, int(number)) for file, number, found in lines if file == "test_it.py"]
        # With `flow` the last event was the return to the line before: what follows it is no call, return or branch of Python.
        assert own[-1] == (function, int(line) - (profile == "flow" and way != "fault"))
        # string_at() is a function of Python.
        assert way == "fault" or lines[-1][2] == function
        assert ENDS[way] in part and re.search(r"^trace: kymo-traces/.*\.kymo$", part, re.M)


def test_the_report_of_a_worker_that_died_while_no_test_ran(suite, run):
    needs("xdist")
    folder = suite("""
import pytest
@pytest.mark.parametrize("n", range(4))
def test_good(n): pass
""")
    (folder / "conftest.py").write_text("""
import os, pytest
def leave():
    os._exit(3)
@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    yield
    if getattr(session.config, "workerinput", {}).get("workerid") == "gw1":
        leave()
    return True
""")
    done = run(folder, "-n2", "--kymo=on")
    assert "4 passed" in done.stdout
    told, = re.findall(r"^=+ kymo: a worker died while no test ran =+\n((?:.*\n)*?)^trace: (kymo-traces/.*\.kymo)$", done.stdout, re.M)
    assert re.match(r"worker gw1: process \d+ exited with status 3; ", told[0])
    assert re.search(r"^  conftest.py:[34] leave", told[0], re.M) and (folder / told[1]).exists()


@pytest.fixture
def memory_group():
    """A cgroup with little memory: (the file that processes join it by)."""
    for root, limit in (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"), (Path("/sys/fs/cgroup"), "memory.max"):
        group = root / f"kymo-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(300 << 20))
            yield group / "cgroup.procs"
            return
        except OSError:
            continue
        finally:
            group.rmdir()
    pytest.skip("no cgroup with a memory limit can be made here")


def test_the_report_of_a_worker_that_the_kernel_killed(suite, run, memory_group):
    needs("xdist")
    folder = suite(f"""
        import os, sys
        import pytest
        @pytest.mark.kymo(events="LINE")
        def test_greedy():
            with open({str(memory_group)!r}, "w") as file:
                file.write(str(os.getpid()))
            kept, said = [], os.open("said", os.O_CREAT | os.O_WRONLY)
            while True:
                os.pwrite(said, b"%d" % (sys._getframe().f_lineno + 1), 0)
                kept.append(bytearray(b"x") * (1 << 20))
        """)
    done = run(folder, "-n1", "--kymo=retain-on-failure", status=1)
    part = done.stdout.partition(" crashed while running ")[2]
    assert "killed by SIGKILL" in part
    last = re.search(r"^thread 1 'MainThread':\n(?:  .*\n)*  test_it.py:(\d+) test_greedy .*\n(?!  )", part, re.M)
    assert last[1] == (folder / "said").read_text()


COMPARED = """
import os
tries = []
def price(count):
    if count > 1 and not os.environ.get("GOOD"):
        return -1
    return count
def test_price():
    tries.append(1)
    assert price(3 - len(tries)) > 0
def test_good():
    pass
"""


@pytest.fixture
def comparing(kymo):
    if kymo("diff", "--help", check=False).returncode:
        pytest.skip("this kymo has no diff")


def test_a_failed_attempt_is_compared_with_a_later_one(suite, run, comparing):
    needs("pytest_rerunfailures")
    folder = suite(COMPARED)
    done = run(folder, "--kymo=retain-on-failure", "--kymo-diff", "--reruns=2")
    assert re.search(r"^  .*test_it.py:5 price", done.stdout, re.M) and "not compared" not in done.stdout
    assert " price" not in run(folder, "--kymo=retain-on-failure", "--reruns=2").stdout


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "workers"])
def test_a_baseline_is_saved_and_compared_with(workers, suite, run, comparing):
    needs(*["xdist"] * bool(workers))
    folder = suite(COMPARED)
    run(folder, "--kymo=on", "--kymo-baseline=good", *workers, env={"GOOD": "1"})
    named = [name for file in (folder / "good").glob("*.tests.json") for name in json.loads(file.read_text())["passed"]]
    assert sorted(named) == ["test_it.py::test_good", "test_it.py::test_price"]
    before = {file: file.read_bytes() for file in (folder / "good").iterdir()}
    done = run(folder, "--kymo=retain-on-failure", "--kymo-baseline=good", "--kymo-last=0", *workers, status=1)
    assert re.search(r"^  .*test_it.py:5 price", done.stdout, re.M) and "not compared" not in done.stdout
    assert before == {file: file.read_bytes() for file in (folder / "good").iterdir() if file.suffix != ".kymo-index"}
    for file in (folder / "good").glob("*.json"):
        file.write_text("{")
    done = run(folder, "--kymo=retain-on-failure", "--kymo-baseline=good", "--kymo-last=0", *workers, status=1)
    assert "kymo replay" in done.stdout and not re.search(r"^  .*test_it.py:5 price", done.stdout, re.M)
