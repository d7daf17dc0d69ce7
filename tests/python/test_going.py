# SPDX-License-Identifier: Apache-2.0
"""Going to places of a run: its start and its end, times, bounds, types of exceptions, and threads that have ended."""
import re
import urllib.parse
from pathlib import Path

import pytest

from dap_client import Client, Failure
from test_console import Console

PROGRAM = """\
import atexit, threading, time, weakref

class Low(ArithmeticError):
    pass

class Lower(Low, KeyError):
    pass

class Other:
    class Inner(OSError):
        pass

def fails(kind):
    try:
        raise kind("x")
    except Exception:
        return kind

class Held:
    pass

def bye(_):
    return 1

def work():
    for n in range(3):
        fails(Low)

held = Held()
reference = weakref.ref(held, bye)
atexit.register(bye, 1)
thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()
for kind in (Low, Lower, Other.Inner, ZeroDivisionError, FileNotFoundError, ValueError):
    fails(kind)
time.sleep(0.3)
last = 1
"""
LAST = len(PROGRAM.splitlines())


@pytest.fixture(scope="module")
def trace(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("a folder %")  # a name that a URI has to escape
    (folder / "program.py").write_text(PROGRAM)
    kymo("record", "-q", "--include=program.py", "-o", folder / "run.kymo", "program.py", cwd=folder)
    return folder / "run.kymo"


@pytest.fixture(scope="module")
def console(kymo, trace):
    return Console(kymo, trace)


def line_of(text):
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


def test_start_and_end_are_those_of_the_run(console):
    for first in ("goto start", "thread 2", "goto 50%"):
        assert re.search(r"\(0\)<module>\(\)$", console.last(first, "goto start"), re.M)
        assert f"({LAST})<module>()\n" in console.last("break work", "goto start", "c", first, "goto end")
    assert "work()" in console.last("break work", "goto start", "c", "thread 2", "goto 0%")  # of the thread


def test_continue_ends_where_the_program_did_and_says_how_to_go_back(console):
    shown = console.run()[0]
    assert f"({LAST})<module>()\n" in shown
    for commands in (["c"], ["goto start", "c"], ["goto start", "c", "c"]):
        answer = console.last(*commands)
        assert answer.startswith("--End-- ") and "reverse-continue goes back\n" in answer and f"({LAST})<module>()\n" in answer
    # What comes behind that can be seen, and continue does not go back from there.
    assert "bye()" in console.last("goto 100%") and "bye()" in console.last("goto 100%", "c")
    assert "continue goes on from here\n" in console.last("rc")


def test_continue_in_an_editor_ends_there_too(trace):
    with Client() as client:
        client.start(trace, position="start")
        assert client.go("continue") == ("<module>", LAST)
        assert client.stopped["description"] == "end of the recording"


def test_a_time_at_which_nothing_was_recorded_says_where_it_led(console):
    at = float(re.search(r"^time +([\d.]+) s", console.last("break program.py:%d" % LAST, "goto start", "c", "info"), re.M)[1])
    answer = console.last(f"goto {at - 0.1:.6f}s")  # in the midst of the sleep
    reached = float(re.match(r"this thread's last event up to then, at ([\d.]+) s\n", answer)[1])
    assert at - 0.5 < reached < at - 0.1
    begin = re.match(r"this thread's first event comes later, at ([\d.]+) s\n", console.last("goto start", "goto 0s"))
    assert begin and float(begin[1]) > 0.001
    assert "event" not in console.last(f"goto {at:.9f}s").splitlines()[0]
    assert console.run(options=[f"--at={at - 0.1:.6f}s"])[0] == answer


@pytest.mark.parametrize("place", ["200%", "100.5%", "-1%", "nan%"])
def test_there_is_nothing_outside_of_the_run(console, place):
    assert console.last(f"goto {place}") == f"goto: '{place}' is outside of the run: 0% to 100% of this thread's events\n"


def test_bounds_in_python(trace):
    import kymo
    with kymo.open(trace) as opened:
        cursor = opened.cursor("start")
        here = cursor.event
        for call, why in [(lambda: cursor.seek(-1), "n is -1"), (lambda: cursor.seek(10**30), "n is 10"), (lambda: cursor.seek(1, k=-1), "k is -1"),
                          (lambda: cursor.seek(1, thread=-1), "thread is -1"), (lambda: cursor.switch(-1), "thread is -1"),
                          (lambda: cursor.switch(2**32), "thread is 4294967296"), (lambda: cursor.break_at("program.py", -5), "line is -5"),
                          (lambda: cursor.break_at("program.py", 2**31), "line is 2147483648")]:  # fmt: skip
            with pytest.raises(ValueError, match=why):
                call()
        with pytest.raises(kymo.Error, match="no thread 2"):
            cursor.switch(2)
        with pytest.raises(kymo.Error, match="outside of the run"):
            cursor.goto("200%")
        with pytest.raises(kymo.Error, match=f"no line {LAST + 1} in .*program.py: it has {LAST} lines"):
            cursor.break_at("program.py", LAST + 1)
        with pytest.raises(kymo.Error, match="lines count from 1"):
            cursor.break_at("program.py", 0)
        with pytest.raises(kymo.Error, match="no file 'nothing.py' ran"):
            cursor.break_at("nothing.py", 1)
        assert cursor.event == here
        assert cursor.break_at("program.py", line_of("return 1")) > 0  # it has that, whether it ran or not
        cursor.seek(10**15)  # the last one before it
        assert cursor.event.n < 10**15


CAUGHT = ["ArithmeticError", "Low", "Lower", "KeyError", "LookupError", "Inner", "Other.Inner", "OSError", "ZeroDivisionError", "Exception", "ValueError",
          "BaseException", "FileNotFoundError", "ImportError"]  # fmt: skip


@pytest.mark.parametrize("wanted", CAUGHT)
@pytest.mark.parametrize("thread", [1, 2])
def test_catch_matches_types_that_are_derived(console, wanted, thread):
    space = {}
    exec(PROGRAM.partition("def fails")[0].replace("import atexit, threading, time, weakref", ""), space)
    kinds = ["Low", "Lower", "Other.Inner", "ZeroDivisionError", "FileNotFoundError", "ValueError"] if thread == 1 else ["Low"] * 3
    expected = [kind for kind in kinds if issubclass(eval(kind, space), eval(wanted if wanted != "Inner" else "Other.Inner", space))]
    begin = ["goto start"] if thread == 1 else ["goto start", "break work", "c", "thread 2", "delete 1"]
    start = ["goto start", f"break program.py:{line_of('for kind in')}", "c", "delete 1"] if thread == 1 else begin
    answers = console.run(*start, f"catch {wanted}", *["c"] * 8)[-8:]
    raised = [found[1] for answer in answers if (found := re.search(r"^--RAISE-- (\S+)$", answer, re.M)) and answer.startswith("Breakpoint")]
    if thread == 1:
        assert raised == expected
    else:
        assert raised[:len(expected)] == expected


def test_threads_that_have_ended_are_shown_so(console):
    assert re.search(r"^  2  thread 2 'worker'  ended$", console.last("threads"), re.M)
    assert re.search(r"^  2  thread 2 'worker'  not begun$", console.last("goto start", "threads"), re.M)
    running = console.last("break work", "goto start", "c", "threads")
    assert re.search(r"^\* 2  thread 2 'worker'  .*work\(\)$", running, re.M)


def test_a_client_that_has_uris(trace):
    program = trace.parent / "program.py"
    line = line_of("raise kind")
    with Client() as client:
        client.initialize(adapterID="kymo", pathFormat="uri")
        client.launch(trace=str(trace), position="start", stopOnEntry=False)
        client.event("initialized")
        point, = client.setBreakpoints(source={"path": program.as_uri()}, breakpoints=[{"line": line}])["breakpoints"]
        assert point["verified"] and point["line"] == line
        client.configurationDone()
        client.stopped = client.event("stopped")
        frame = client.frames()[0]
        assert (frame["name"], frame["line"]) == ("fails", line)
        path = frame["source"]["path"]
        assert path.startswith("file:///") and " " not in path
        assert Path(urllib.parse.unquote(urllib.parse.urlparse(path).path)) == program
    with Client() as client, pytest.raises(Failure, match="pathFormat: 'smoke' is not supported, only 'path' and 'uri'"):
        client.initialize(adapterID="kymo", pathFormat="smoke")


def test_all_threads_go_on_before_a_command_stops_another_one(trace):
    """nvim-dap lets a thread that stops while another one stands go on by itself."""
    with Client() as client:
        client.start(trace, position="start")
        client.passed.clear()
        for command, thread in [("goto 50%", 1), ("thread 2", 2), ("thread 1", 1), ("rs", 1), ("reverse-switch", None)]:
            client.evaluate(expression=command, context="repl")
            stopped = client.event("stopped")
            assert thread in (None, stopped["threadId"])
            before = client.passed[-1]
            assert (before["event"], before["body"]["allThreadsContinued"]) == ("continued", True)
            client.passed.clear()
        target, = client.gotoTargets(source={"path": str(trace.parent / "program.py")}, line=line_of("last = 1"))["targets"][:1]
        client.goto(threadId=1, targetId=target["id"])
        client.event("stopped")
        assert client.passed[-1]["event"] == "continued"


def test_no_error_names_a_file_twice(kymo, tmp_path):
    junk = tmp_path / "junk.kymo"
    junk.write_text("junk")
    for verb in (["info"], ["top"], ["report", "-o", tmp_path / "page.html"], ["coverage"], ["coverage", "-f"], ["export", "--format=arrow", "-o", tmp_path / "x"],
                 ["export", "--format=speedscope", "-o", tmp_path / "y"], ["export", "--format=pstats", "-o", tmp_path / "z"], ["stats"], ["replay"]):  # fmt: skip
        for path in (junk, tmp_path / "nothing.kymo"):
            done = kymo(*verb, path, check=False)
            assert done.returncode and done.stderr.count(str(path)) == 1, (verb, done.stderr)


def test_coverage_takes_force_as_other_verbs_do(trace, kymo, tmp_path):
    for _ in range(2):
        kymo("coverage", "-f", "--format=lcov", "-o", tmp_path / "lcov.info", trace)
    assert "program.py" in (tmp_path / "lcov.info").read_text()
