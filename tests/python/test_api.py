# SPDX-License-Identifier: Apache-2.0
"""kymo.record(), start(), stop(), trace(), mark(), snapshot(): a program that records itself."""
import subprocess
import sys
import textwrap
from fnmatch import fnmatchcase

import pytest

from conftest import TIMEOUT, environment

HAS_BRANCH_SIDES = sys.version_info >= (3, 14)


@pytest.fixture
def run(build, tmp_path):
    """run("import kymo; …"): run a program that finds the package; returns a CompletedProcess."""
    def run(text, *, check=True, env=None):
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(text))
        done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT,
                              env=environment({"PYTHONPATH": build / "python"} | (env or {})))
        assert not check or done.returncode == 0, done.stderr
        return done
    return run


@pytest.fixture
def of_function(events, tmp_path):
    """of_function(trace, name): (event, line) of each event in that function."""
    def read(trace, name):
        return [(event["event"], event.get("line")) for event in events(tmp_path / trace)
                if event.get("function") == name]
    return read


CALL_AND_RETURN = [("PY_START", 3), ("LINE", 4), ("PY_RETURN", 4)]


def test_with_record_covers_the_block(run, of_function):
    done = run("""
        import kymo
        def inside():
            return 1
        def outside():
            return 2
        outside()
        with kymo.record("a.kymo"):
            inside()
        outside()
        """)
    assert done.stdout == done.stderr == ""
    assert of_function("a.kymo", "inside") == CALL_AND_RETURN
    assert of_function("a.kymo", "outside") == []


def test_the_trace_is_complete_when_the_block_ends(run):
    run("""
        import kymo, os
        with kymo.record("a.kymo"):
            pass
        assert os.path.exists("a.kymo") and not os.path.exists("a.kymo.incomplete")
        assert "KYMO_SESSION" not in os.environ
        """)


def test_nested_use_joins(run, of_function, tmp_path):
    run("""
        import kymo
        def inside():
            return 1
        with kymo.record("a.kymo"):
            with kymo.record("b.kymo", events="LINE"):
                pass
            assert kymo.is_recording()
            inside()
        assert not kymo.is_recording()
        """)
    assert of_function("a.kymo", "inside") == CALL_AND_RETURN
    assert not (tmp_path / "b.kymo").exists()


def test_start_and_stop_pair_up(run):
    run("""
        import kymo
        kymo.start("a.kymo"); kymo.start(); kymo.stop()
        assert kymo.is_recording()
        kymo.stop()
        try:
            kymo.stop()
        except RuntimeError:
            pass
        else:
            assert False
        """)


def test_start_under_kymo_record_joins_and_stop_leaves_it(build, record, of_function):
    trace = record("""
import sys; sys.path.insert(0, %r)
import kymo
kymo.start("never.kymo")
kymo.stop()
def after():
    return 1
after()
""" % str(build / "python"))
    assert of_function(trace, "after") == [("PY_START", 6), ("LINE", 7), ("PY_RETURN", 7)]


def test_trace_decorates_functions_and_coroutines(run, of_function):
    run("""
        import kymo, asyncio
        @kymo.trace(output="a.kymo")
        def plain(x, *, y):
            return x + y
        @kymo.trace(output="b.kymo")
        async def waits():
            await asyncio.sleep(0)
            return 7
        assert plain(1, y=2) == 3 and plain.__name__ == "plain"
        assert asyncio.run(waits()) == 7
        """)
    assert [event for event, _ in of_function("a.kymo", "plain")] == ["PY_START", "LINE", "PY_RETURN"]
    assert [event for event, _ in of_function("b.kymo", "waits") if event != "LINE"] == [
        "PY_START", "PY_YIELD", "PY_RESUME", "PY_RETURN"]


def test_marks_name_their_text_and_place(run, events, tmp_path):
    run(r"""
        import kymo
        kymo.mark("before")
        def f(text):
            kymo.mark(text)
        with kymo.record("a.kymo"):
            for text in "one", "two", "one", "\udc80é\0":
                f(text)
        """)
    marks = [event for event in events(tmp_path / "a.kymo") if event["event"] == "MARK"]
    assert [mark["mark"] for mark in marks] == ["one", "two", "one", r"\udc80é\x00"]
    assert {mark["function"] for mark in marks} == {"f"}


@pytest.mark.parametrize("options, error", [
    ("events='NOPE'", "ValueError"), ("policy='none'", "ValueError"), ("ring_size='4X'", "ValueError"),
    ("nope=1", "TypeError"), ("events=3", "TypeError"), ("output='.'", "FileExistsError"),
    pytest.param("events='BRANCH_LEFT'", "ValueError", marks=pytest.mark.skipif(HAS_BRANCH_SIDES, reason="exists here")),
])
def test_wrong_options_are_told_and_leave_nothing_behind(run, options, error):
    run(f"""
        import kymo, os, sys
        try:
            kymo.start(**dict(dict(output="a.kymo"), **dict({options})))
        except {error}:
            pass
        else:
            assert False
        assert not kymo.is_recording() and "KYMO_SESSION" not in os.environ
        assert not any(map(sys.monitoring.get_tool, range(6)))
        with kymo.record("b.kymo"):
            pass
        """)


def test_an_existing_file_is_kept_without_force(run):
    run("""
        import kymo
        open("a.kymo", "w").write("mine")
        try:
            kymo.start("a.kymo")
        except FileExistsError:
            assert open("a.kymo").read() == "mine"
        with kymo.record("a.kymo", force=True):
            pass
        assert open("a.kymo", "rb").read() != b"mine"
        """)


def test_without_the_program_the_error_says_how_to_name_it(run):
    run("""
        import kymo
        try:
            kymo.start("a.kymo")
        except FileNotFoundError as error:
            assert "KYMO_PROGRAM" in str(error)
        """, env={"KYMO_PROGRAM": "/nowhere/kymo"})


def test_tool_ids_that_others_hold(run):
    """The first is one that others do not count on, at the start or later."""
    run("""
        import kymo, sys
        with kymo.record("b.kymo"):
            assert [sys.monitoring.get_tool(id) for id in range(6)] == [None] * 5 + ["kymo"]
        for held, taken in ([5], 4), ([3, 4], 5), ([4, 5], 3), ([3, 4, 5], 0):
            for id in held:
                sys.monitoring.use_tool_id(id, "another")
            with kymo.record("b.kymo", force=True):
                assert sys.monitoring.get_tool(taken) == "kymo", (held, taken)
            for id in held:
                sys.monitoring.free_tool_id(id)
        for id in range(6):
            sys.monitoring.use_tool_id(id, f"tool{id}")
        try:
            kymo.start("a.kymo")
        except RuntimeError as error:
            assert "tool0 (0)" in str(error) and "tool5 (5)" in str(error)
        sys.monitoring.free_tool_id(1)
        with kymo.record("b.kymo", force=True):
            assert sys.monitoring.get_tool(1) == "kymo"
        assert sys.monitoring.get_tool(1) is None
        """)


def test_patterns_are_those_of_the_shell(run, events, tmp_path):
    files = ["/a/b.py", "/a/b/c.py", "/a/bc.py", "/a/b", "/a/b*.py", "/a/c.py", "/z/a/b.py"]
    patterns = ["/a/b.py", "/a/b", "/a/b/", "/a/b/*", "/a/b*", "/a/?.py", "/a/[bc].py", "/a/*.py", "/*", "*/b.py"]
    run(f"""
        import kymo
        for number, pattern in enumerate({patterns}):
            with kymo.record(f"{{number}}.kymo", omit=pattern):
                for file in {files}:
                    exec(compile("(lambda: 0)()", file, "exec"))
        """)
    for number, pattern in enumerate(patterns):
        recorded = {event["file"] for event in events(tmp_path / f"{number}.kymo", "--kind=PY_START")}
        assert recorded.intersection(files) == {file for file in files if not fnmatchcase(file, pattern)}, pattern


def test_excluded_code_is_not_recorded_and_its_callers_are(run, of_function, tmp_path):
    (tmp_path / "excluded.py").write_text("def skipped(then):\n    return then()\n")
    run("""
        from excluded import skipped
        import kymo
        def inside():
            return 1
        with kymo.record("a.kymo", omit="excluded.py"):
            skipped(inside)
        with kymo.record("b.kymo", include=["*/excluded.py"]):
            skipped(inside)
        with kymo.record("c.kymo", source="excluded"):
            skipped(inside)
        with kymo.record("d.kymo"):
            skipped(inside)
        """)
    assert of_function("a.kymo", "skipped") == []
    assert len(of_function("a.kymo", "inside")) == 3
    for trace in "b.kymo", "c.kymo":
        assert len(of_function(trace, "skipped")) == 3
        assert of_function(trace, "inside") == []
    assert len(of_function("d.kymo", "skipped")) == len(of_function("d.kymo", "inside")) == 3


def test_no_stdlib(run, events, tmp_path):
    run("""
        import kymo, textwrap
        with kymo.record("a.kymo", no_stdlib=True):
            textwrap.fill("a b c", 3)
        with kymo.record("b.kymo"):
            textwrap.fill("a b c", 3)
        """)
    assert not any("textwrap" in event["file"] for event in events(tmp_path / "a.kymo"))
    assert any("textwrap" in event["file"] for event in events(tmp_path / "b.kymo"))


def test_coverage_sees_each_place_once_and_again_in_the_next_recording(run, events, tmp_path):
    run("""
        import kymo
        def f(x):
            if x:
                return 1
            return 2
        for trace in "a.kymo", "b.kymo":
            with kymo.record(trace, events="coverage"):
                for x in 1, 1, 0, 0, 1:
                    f(x)
        """)
    seen = []
    for trace in "a.kymo", "b.kymo":
        of_f = [event for event in events(tmp_path / trace) if event.get("function") == "f"]
        assert sorted(event["line"] for event in of_f if event["event"] == "LINE") == [4, 5, 6]
        branches = [(event["offset"], event["dest"]) for event in of_f if event["event"].startswith("BRANCH")]
        assert len(branches) == len(set(branches)) == 2
        seen.append([event["event"] for event in of_f])
    assert seen[0] == seen[1]


def test_names_of_classes_that_come_and_go_at_the_same_addresses(run, events, tmp_path):
    run("""
        import kymo
        def once(number):
            cls = type(f"E{number}", (Exception,), {})
            try:
                raise cls
            except Exception:
                pass
            return id(cls)
        with kymo.record("a.kymo", events="RAISE,CALL", source="program"):
            addresses = {once(number) for number in range(10000)}
        assert len(addresses) < 5000
        """)
    once = [event for event in events(tmp_path / "a.kymo") if event.get("function") == "once"]
    raised = [event["exception"] for event in once if event["event"] == "RAISE"]
    assert raised == [f"E{number}" for number in range(10000)]
    assert {event["callable"] for event in once if event["event"] == "CALL"} >= {"type", "id"}


def test_names_of_callables(run, events, tmp_path):
    run("""
        import kymo, math
        class A:
            def m(self): pass
            def __call__(self): pass
        def f():
            len([]); math.sqrt(4); [].append(1); list.append([], 2); a = A(); a.m(); a(); dict.fromkeys("a")
            object.__init__(a); a.__eq__(a)
        with kymo.record("a.kymo", events="CALL", source="program"):
            f()
        """)
    names = [event["callable"] for event in events(tmp_path / "a.kymo") if event.get("function") == "f"]
    assert names == ["len", "math.sqrt", "list.append", "list.append", "A", "A.m", "A", "dict.fromkeys",
                     "object.__init__", "object.__eq__"]


def test_two_recordings_have_their_own_definitions(run, of_function):
    run("""
        import kymo
        def f():
            return 1
        for trace in "abc":
            with kymo.record(trace + ".kymo"):
                f()
        """)
    for trace in "a.kymo", "b.kymo", "c.kymo":
        assert of_function(trace, "f") == CALL_AND_RETURN


def test_threads_of_a_recording_under_way(run, events, tmp_path):
    run("""
        import kymo, threading
        def f():
            return 1
        go, on = threading.Event(), threading.Event()
        def worker():
            f()
            on.set()
            go.wait()
            f()
        threads = [threading.Thread(target=worker, name=f"w{i}") for i in range(4)]
        threads[0].start(); on.wait()
        with kymo.record("a.kymo"):
            for thread in threads[1:]:
                thread.start()
            go.set()
            for thread in threads:
                thread.join()
        """)
    calls = {}
    for event in events(tmp_path / "a.kymo"):
        if event.get("function") == "f" and event["event"] == "PY_START":
            calls[event["tid"]] = calls.get(event["tid"], 0) + 1
    assert sorted(calls.values()) == [1, 2, 2, 2]


def test_exceptions_and_references_are_untouched(run):
    run("""
        import kymo, sys, gc
        def f(x):
            try:
                raise KeyError(x)
            except KeyError as error:
                return error.args[0]
        def measure():
            thing = object()
            before = sys.getrefcount(thing), sys.getrefcount(f.__code__), sys.getrefcount(KeyError)
            for _ in range(1000):
                assert f(thing) is thing
            return before == (sys.getrefcount(thing), sys.getrefcount(f.__code__), sys.getrefcount(KeyError))
        with kymo.record("a.kymo", events="full"):
            assert measure()
            assert sys.exception() is None
        """)


def test_an_interpreter_that_never_joined_and_cannot_may_stop_the_recording(run, of_function):
    run("""
        import kymo
        from kymo import _kymo
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        def inside():
            return 1
        kymo.start("a.kymo")
        inside()
        other = interpreters.create()
        failed = interpreters.run_string(other, "import sys; del sys.monitoring; from kymo import _kymo; _kymo.stop()")
        assert not failed, failed
        assert not kymo.is_recording()
        interpreters.destroy(other)
        """)
    assert of_function("a.kymo", "inside")
