# SPDX-License-Identifier: Apache-2.0
"""kymo.open(): what each property and method gives, and what happens to who uses it wrongly."""
import ast
import copy
import gc
import inspect
import json
import os
import pickle

import pytest
from conftest import BUILD, ROOT

import kymo as library
from kymo._project import Project

PROGRAM = """\
import threading
import kymo

def work(n):
    kymo.mark(f"work {n}")
    return sum(range(n))

thread = threading.Thread(target=work, args=(3,), name="worker")
thread.start()
thread.join()
work(4)
"""


@pytest.fixture(scope="module")
def path(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    (folder / "program.py").write_text(PROGRAM)
    kymo("record", "-q", "-o", folder / "run.kymo", "--include=program.py", "program.py", cwd=folder,
         env={"PYTHONPATH": BUILD / "python"})
    return folder / "run.kymo"


@pytest.fixture
def trace(path):
    with library.open(path) as opened:
        yield opened


def test_events_are_those_that_the_command_prints(trace, events, path):
    printed = events(path)
    told = list(trace.events())
    assert [(e.n, e.k, e.event, e.file, e.function, e.line, e.offset, e.dest, e.t_ns, e.t_err_ns) for e in told] == [
        (e["n"], e.get("k", 0), e["event"], e.get("file"), e.get("function"), e.get("line"), e.get("offset"), e.get("dest"),
         e["t_ns"], e["t_err_ns"]) for e in printed]  # fmt: skip
    assert all(isinstance(event, library.Event) for event in told)


def test_events_of_some_kinds_of_a_thread_and_of_a_time(trace):
    told = list(trace.events())
    assert list(trace.events(kinds="LINE")) == [event for event in told if event.event == "LINE"]
    assert list(trace.events(kinds=["LINE", "MARK"])) == [event for event in told if event.event in ("LINE", "MARK")]
    assert list(trace.events(thread=1)) == [event for event in told if event.thread == 1] != []
    files = {event.file for event in told if event.file}
    for file in files:
        assert list(trace.events(files=[file])) == [event for event in told if event.file in (file, None)]
    assert list(trace.events(files=files)) == told
    assert all(event.file is None for event in trace.events(files=[]))
    start, end = told[10].t_ns, told[-5].t_ns
    assert list(trace.events(start_ns=start, end_ns=end)) == [event for event in told if start <= event.t_ns <= end]


def test_facts(trace, path):
    assert trace.facts["command"][-1] == "program.py" and trace.facts["directory"] == str(path.parent)
    assert [process["end"] for process in trace.processes] == ["exited with status 0"]
    assert [thread["name"] for thread in trace.threads] == ["MainThread", "worker"]
    assert [(mark["text"], mark["thread"]) for mark in trace.marks] == [("work 4", 0), ("work 3", 1)]
    assert trace.config["profile"] == "flow" and trace.config["include"] == ["program.py"]
    for number, thread in enumerate(trace.threads):
        of_thread = list(trace.events(thread=number))
        assert (thread["first"], thread["last"]) == (of_thread[0].n, of_thread[-1].n)
        assert thread["lines"] == sum(event.event == "LINE" for event in of_thread)


def test_losses(trace, record):
    assert trace.losses == []
    lossy = record("for n in range(100000): pass", "--policy=overwrite", "--events=full", "--ring-size=8K")
    with library.open(lossy) as opened:
        assert {event.event for event in opened.losses} == {"GAP"}
        assert sum(event.lost for event in opened.losses) > 1000


def test_source(trace, path):
    text, is_verified = trace.source(path.parent / "program.py")
    assert text == PROGRAM.encode() and isinstance(is_verified, bool)
    with pytest.raises(OSError, match="the trace does not hold this source"):
        trace.source("/nowhere.py")
    with pytest.raises(OSError, match="no thread 7"):
        trace.source(path.parent / "program.py", thread=7)


def test_what_cannot_be_opened_says_why(tmp_path, path):
    (tmp_path / "text").write_text("no trace at all, but long enough to have the header of one " * 10)
    for name, message in ("text", "not a trace of Kymo"), ("nothing", "No such file"), ("", "not a regular file"):
        with pytest.raises(OSError, match=message) as caught:
            library.open(tmp_path / name)
        assert isinstance(caught.value, library.Error) and caught.value.filename == str(tmp_path / name)
    with pytest.raises(TypeError):
        library.open(None)
    with pytest.raises(ValueError, match="null"):
        library.open("with\0nul")


def test_wrong_arguments_are_errors_with_a_message(trace):
    cursor = trace.cursor("start")
    here = cursor.event
    for message, call in [
        ("no such event", lambda: trace.events(kinds="LIME")), ("no thread 9", lambda: trace.events(thread=9)),
        ("no thread 9", lambda: cursor.seek(1, thread=9)), ("no thread 9", lambda: cursor.switch(9)),
        ("'nowhere' is not a time", lambda: cursor.goto("nowhere")), ("no break 9", lambda: cursor.remove_break(9)),
        ("a value is missing at the end", lambda: cursor.break_at("program.py", 4, "1 +")), ("'nowhere' is not a time", lambda: trace.cursor("nowhere")),
    ]:  # fmt: skip
        with pytest.raises(OSError, match=message):
            call()
    assert cursor.event == here


def test_closing(path):
    trace = library.open(path)
    cursor, events = trace.cursor(), trace.events()
    next(events)
    trace.close()
    trace.close()
    for use in (lambda: trace.facts, lambda: trace.threads, lambda: trace.losses, trace.events, trace.cursor,
                lambda: trace.source("program.py"), lambda: cursor.event, lambda: cursor.stack, lambda: cursor.hit,
                cursor.step_in, lambda: cursor.goto("start"), lambda: cursor.seek(1), lambda: next(events)):  # fmt: skip
        with pytest.raises(ValueError, match="is closed"):
            use()
    cursor.close()
    events.close()


def test_a_closed_cursor_leaves_the_trace_open(trace):
    with trace.cursor() as cursor:
        assert cursor.event
    cursor.close()
    with pytest.raises(ValueError, match="the cursor is closed"):
        cursor.next_event()
    assert trace.cursor().event


def test_with_closes(path):
    with library.open(path) as trace:
        pass
    with pytest.raises(ValueError, match="the trace is closed"):
        trace.cursor()


def open_files():
    return len(os.listdir("/proc/self/fd"))


def test_what_nobody_has_any_more_is_closed(path):
    before = open_files()
    for _ in range(20):
        trace = library.open(path)
        events, cursor = trace.events(), trace.cursor()
        next(events)
        del trace, events, cursor
    gc.collect()
    assert open_files() == before


def test_iterators_that_are_abandoned_half_way(trace):
    whole = list(trace.events())
    for count in range(0, len(whole), 7):
        events = trace.events()
        assert [event for _, event in zip(range(count), events)] == whole[:count]
    interleaved = [trace.events() for _ in range(3)]
    assert [event for row in zip(*interleaved) for event in row] == [event for event in whole for _ in range(3)]
    events = trace.events()
    assert list(events) == whole and list(events) == []


def test_the_hit_is_of_the_last_move(trace):
    cursor = trace.cursor("start")
    first = cursor.break_at("program.py", 5)
    assert cursor.resume() == "break" and cursor.hit == first
    numbers = [cursor.break_at_function(f"nothing{n}") for n in range(50)]
    assert cursor.hit == first
    for number in numbers:
        cursor.remove_break(number)
    assert cursor.hit == first
    cursor.goto("start")
    assert cursor.hit is None
    assert cursor.resume() == "break" and cursor.hit == first
    cursor.remove_break(first)
    assert cursor.hit is None and cursor.resume() == "end"


def test_two_cursors_of_one_trace_do_not_mind_each_other(trace):
    one, other = trace.cursor("start"), trace.cursor("end")
    there = other.event
    while one.next_event() == "moved":
        assert other.event == there
    other.goto("start")
    one.break_at("program.py", 5)
    assert other.resume() == "end"


def test_the_stubs_name_what_there_is():
    stubs = ast.parse((ROOT / "pyext/kymo/__init__.pyi").read_text())
    classes = {node.name: node for node in stubs.body if isinstance(node, ast.ClassDef)}
    for name in ("Trace", "Cursor", "Events", "Event", "Frame", "Value"):
        real, names = getattr(library, name), {}
        for node in classes[name].body:
            if isinstance(node, ast.FunctionDef):
                names[node.name] = [argument.arg for argument in node.args.args + node.args.kwonlyargs]
            elif isinstance(node, ast.AnnAssign):
                names[node.target.id] = None
        if hasattr(real, "_fields"):
            assert tuple(name for name, arguments in names.items() if arguments is None) == real._fields
            names = {name: arguments for name, arguments in names.items() if arguments is not None}
        public = {member for member in vars(real) if not member.startswith("_")} - set(getattr(real, "_fields", ()))
        assert public == {member for member in names if not member.startswith("_")}, name
        for member in public:
            function = getattr(real, member)
            if inspect.isfunction(function):
                assert names[member] == list(inspect.signature(function).parameters), (name, member)


def test_the_description_is_json_whatever_the_names(record):
    trace = record("import threading\nt = threading.Thread(target=print, name='a\\x1b\"\\ud800é')\nt.start()\nt.join()\n")
    with library.open(trace) as opened:
        assert json.dumps(opened.facts)
        # A thread that ends at once may have none.
        assert all(isinstance(thread["name"], (str, type(None))) for thread in opened.threads)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_what_is_open_is_not_copied(path, duplicate):
    trace = library.open(path)
    for one in trace, trace.cursor(), trace.events(), Project():
        with pytest.raises(TypeError, match="cannot copy or pickle"):
            duplicate(one)
    assert next(trace.events()) and trace.cursor().event
    trace.close()
