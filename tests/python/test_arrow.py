# SPDX-License-Identifier: Apache-2.0
"""Traces as Arrow streams: what pyarrow, pandas, polars and DuckDB make of them, against what `kymo events` prints."""
import gc
import os
import subprocess
import sys

import pytest
from conftest import BUILD, KYMO, environment
from streams import threads_of

import kymo as library

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
compute = pytest.importorskip("pyarrow.compute")

PROGRAM = """\
import os
import threading
import types
import kymo

class Odd(Exception):
    pass

Odd.__qualname__ = 'Odd "quoted"'
namespace = {}
source = "def f(n):\\n    if n:\\n        return f(n - 1)\\n    raise E\\n"
exec(compile(source, "it's \\udc80 \\"here\\".py", "exec"), namespace)
namespace["E"] = Odd
f = namespace["f"]
f.__code__ = f.__code__.replace(co_name="f", co_qualname="lone \\ud800 \\\\x80 'f'")

def numbers(n):
    for i in range(n):
        yield i

def work(n):
    kymo.mark(f"work \\"{n}\\" \\u00e9")
    for i in numbers(n):
        try:
            f(i)
        except Odd:
            pass
    return sorted(str(i) for i in range(n))

if os.fork() == 0:
    work(3)
    os._exit(0)
os.wait()
threads = [threading.Thread(target=work, args=(n,), name=f"worker '{n}'") for n in (5, 6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
work(7)
"""
LONG = "def f(n):\n" + "    x = n\n" * 20000 + "    return x\n\nfor n in range(4):\n    f(n)\n"
LOSSY = "def f(n):\n    return n\n\nfor n in range(20000):\n    f(n)\n"
TASKS = """\
import asyncio

async def inner(n):
    await asyncio.sleep(0)
    return n

async def count(n):
    for i in range(n):
        yield await inner(i)

async def step(n):
    async for i in count(3):
        await inner(i)
    return n

async def main():
    for name in 'odd "name" \\udc80', "", None:
        await asyncio.create_task(step(1), name=name)
    await asyncio.gather(*(step(n) for n in range(30)))

asyncio.run(main())
"""
CONTEXTS = """\
import os
import queue
import threading
import kymo

def leaf(n):
    return n + 1

def work(n):
    return [leaf(i) for i in range(n)]

def beside():
    while n := asked.get():
        work(n)
        asked.task_done()

class Case:
    def run(self, n):
        for phase in "setup", "run":
            with kymo.context(f"test_{n}|{phase}"):
                asked.put(5)
                asked.join()
                work(n)

asked = queue.Queue()
threading.Thread(target=beside).start()
for n in 30, 40, 30:
    Case().run(n)
    work(3)
    with kymo.context("fork"):
        if os.fork() == 0:
            work(n)
            os._exit(0)
        os.wait()
    asked.put(2)
    asked.join()
asked.put(0)
"""
RECORDINGS = {
    "calls": (PROGRAM, "--events=calls"),
    "flow": (PROGRAM, "--events=flow", "--c-calls"),
    "full": (PROGRAM, "--events=full"),
    "exact clock": (PROGRAM, "--events=flow", "--clock=exact"),
    "no clock": (PROGRAM, "--events=full", "--clock=none"),
    "tasks": (TASKS, "--events=flow"),
    "all of tasks": (TASKS, "--events=full", "--clock=exact"),
    "contexts": (CONTEXTS, "--events=flow"),
    "all of contexts": (CONTEXTS, "--events=full", "--ring-size=8K"),
    "long steps": (LONG, "--events=flow"),
    "flow with gaps": (LOSSY, "--events=flow", "--policy=overwrite", "--ring-size=8K"),
    "full with gaps": (LOSSY, "--events=full", "--policy=overwrite", "--ring-size=8K"),
}  # fmt: skip
OF_JSON = ("pid", "tid", "n", "k", "t_ns", "t_err_ns", "event", "file", "function", "line", "offset", "dest", "name",
           "lost", "task", "task_name")  # fmt: skip
OF_EVENTS = ("thread", "n", "k", "event", "interpreter", "turn", "lost_reasons", "t_ns", "t_err_ns", "task", "task_name")


@pytest.fixture(scope="module")
def recordings(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrow")
    for name, (program, *options) in RECORDINGS.items():
        script = folder / f"{name}.py"
        script.write_text(program)
        kymo("record", "-q", "-o", folder / f"{name}.kymo", "--no-stdlib", *options, script,
             env={"PYTHONPATH": BUILD / "python"})  # fmt: skip
    return {name: folder / f"{name}.kymo" for name in RECORDINGS}


@pytest.fixture(params=RECORDINGS)
def path(request, recordings):
    return recordings[request.param]


@pytest.fixture
def flow(recordings):
    with library.open(recordings["flow"]) as opened:
        yield opened


def rows(table, columns):
    """Of what pyarrow holds."""
    return list(zip(*(table.column(name).to_pylist() for name in columns)))


def printed(events, path):
    """What `kymo events` prints, thread after thread."""
    for event in (found := events(path)):
        event["name"] = event.get("callable", event.get("exception", event.get("mark")))
        event["k"] = event.get("k", 0)
    return [tuple(map(event.get, OF_JSON)) for _, told in sorted(threads_of(found).items()) for event in told]


def told(events):
    """kymo.Event as rows."""
    return [(*(getattr(event, name) for name in OF_EVENTS[:5]), event.turn or None,
             event.lost_reasons if event.event == "GAP" else None, event.t_ns, event.t_err_ns, event.task, event.task_name)
            for event in events]  # fmt: skip


def test_rows_are_the_events_that_the_command_prints(events, path):
    with library.open(path) as trace:
        table = pyarrow.table(trace)
    table.validate(full=True)
    found = rows(table, OF_JSON)
    assert sorted(found, key=lambda row: row[:2]) == printed(events, path) != []
    assert len({batch.schema for batch in table.to_batches()}) == 1


def test_other_columns_are_those_of_events(path):
    with library.open(path) as trace:
        expected = [row for thread in range(len(trace.threads)) for row in told(trace.events(thread=thread))]
        assert rows(pyarrow.table(trace), OF_EVENTS) == expected
        names = {number: thread["name"] for number, thread in enumerate(trace.threads)}
        assert {*rows(pyarrow.table(trace), ("thread", "thread_name"))} <= names.items()


def test_recordings_have_what_is_hard(recordings):
    def of(name):
        with library.open(recordings[name]) as trace:
            return pyarrow.table(trace)

    flow = of("flow")
    assert {"MARK", "C_RAISE", "C_RETURN", "PY_YIELD", "PY_UNWIND", "LINE", "RAISE"} & {*flow["event"].to_pylist()} >= {
        "MARK", "C_RETURN", "PY_YIELD", "PY_UNWIND", "LINE", "RAISE"}  # fmt: skip
    assert len({*flow["pid"].to_pylist()}) == 2 and len({*flow["thread"].to_pylist()}) == 4
    names = {*flow["name"].to_pylist()} - {None}
    assert 'work "7" é' in names and any('Odd "quoted"' in name for name in names)
    assert any("lone" in name and "\\\\x80 'f'" in repr(name) for name in flow["function"].to_pylist() if name)
    assert max(flow["k"].to_pylist()) > 1 == len(of("calls")["k"].unique())
    long = of("long steps")
    assert max(long["k"].to_pylist()) > max(batch.num_rows for batch in long.to_batches()) > 1000
    for name in "tasks", "all of tasks":
        entered = of(name).filter(compute.is_valid(of(name)["task"]))
        assert {*entered["event"].to_pylist()} == {"PY_START", "PY_RESUME"}
        assert len(entered["task"].unique()) == 34 and 'odd "name" \\udc80' in entered["task_name"].to_pylist()
    for name in "flow with gaps", "full with gaps":
        assert sum(filter(None, of(name)["lost"].to_pylist())) > 1000


@pytest.mark.parametrize("part", [
    {"kinds": "LINE"}, {"kinds": ["MARK", "RAISE", "PY_RETURN"]}, {"kinds": ("GAP", "UNKNOWN", "JUMP")},
    {"thread": True}, {"files": []}, {"files": True}, {"start_ns": 0.4}, {"end_ns": 0.5},
    {"start_ns": 0.3, "end_ns": 0.31, "kinds": "LINE"}, {"start_ns": 1}, {"end_ns": 0},
])  # fmt: skip
@pytest.mark.parametrize("name", ["flow", "full", "calls", "flow with gaps", "tasks", "all of tasks"])
def test_parts_are_those_of_events(recordings, name, part):
    with library.open(recordings[name]) as trace:
        times = sorted(event.t_ns for event in trace.events())
        times = [times[0] - 1000, *times, times[-1] + 1000]
        at = lambda share: times[int(share * (len(times) - 1))]
        part = part | {key: at(part[key]) for key in ("start_ns", "end_ns") if key in part}
        if part.get("thread"):
            part["thread"] = len(trace.threads) - 1
        if part.get("files"):
            part["files"] = [next(event.file for event in trace.events() if event.file)]
        threads = [part["thread"]] if "thread" in part else range(len(trace.threads))
        expected = [row for thread in threads for row in told(trace.events(**part | {"thread": thread}))]
        found = pyarrow.table(trace.arrow(**part))
    found.validate(full=True)
    assert rows(found, OF_EVENTS) == expected


def test_without_k_what_is_not_asked_for_is_not_rebuilt(flow):
    part = {"kinds": "PY_START", "columns": ["n", "function"]}
    assert rows(pyarrow.table(flow.arrow(**part)), part["columns"]) == [
        (event.n, event.function) for thread in range(len(flow.threads))
        for event in flow.events(kinds="PY_START", thread=thread)]  # fmt: skip


def test_columns(flow):
    assert pyarrow.table(flow.arrow(columns=["line", "n"])).column_names == ["line", "n"]
    count = pyarrow.table(flow).num_rows
    assert pyarrow.RecordBatchReader.from_stream(flow.arrow(columns=[])).schema.names == []
    assert sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(flow.arrow(columns=["n"]))) == count
    for wrong in ["lime"], ["n", "n"]:
        with pytest.raises(library.Error, match="no such column, or named twice"):
            flow.arrow(columns=wrong)


def test_a_requested_schema_chooses_columns(flow):
    wanted = pyarrow.schema([("event", pyarrow.string()), ("t_ns", pyarrow.int64())])
    table = pyarrow.table(flow, schema=wanted)
    assert table.schema == wanted and table.num_rows == pyarrow.table(flow).num_rows
    with pytest.raises(library.Error, match="'lime': no such column"):
        flow.__arrow_c_stream__(pyarrow.schema([("lime", pyarrow.string())]).__arrow_c_schema__())
    with pytest.raises(ValueError, match="not that of a table"):
        flow.__arrow_c_stream__(pyarrow.int64().__arrow_c_schema__())
    with pytest.raises(ValueError):
        flow.__arrow_c_stream__(flow.__arrow_c_stream__())


def test_the_start_is_in_the_schema(flow):
    started = int(pyarrow.table(flow).schema.metadata[b"started_unix_ns"])
    assert abs(started / 1e9 - os.path.getmtime(flow._path)) < 3600


def test_wrong_parts_are_errors(flow):
    for message, part in ("no such event", {"kinds": "LIME"}), ("no thread 9", {"thread": 9}):
        with pytest.raises(library.Error, match=message):
            flow.arrow(**part)
    flow.close()
    for use in flow.arrow, flow.__arrow_c_stream__:
        with pytest.raises(ValueError, match="the trace is closed"):
            use()


def test_a_trace_that_is_gone_is_an_error(recordings, tmp_path):
    copy = tmp_path / "copy.kymo"
    copy.write_bytes(recordings["calls"].read_bytes())
    with library.open(copy) as trace:
        table = trace.arrow()
        copy.unlink()
        with pytest.raises(library.Error, match="No such file"):
            pyarrow.table(table)


def test_a_damaged_trace_ends_with_a_gap(recordings, tmp_path):
    whole = bytearray(recordings["full"].read_bytes())
    (tmp_path / "cut.kymo").write_bytes(whole[: len(whole) * 3 // 4])
    with library.open(tmp_path / "cut.kymo") as trace:
        assert rows(pyarrow.table(trace), OF_EVENTS) == [
            row for thread in range(len(trace.threads)) for row in told(trace.events(thread=thread))]


def test_streams_depend_on_nothing(flow):
    expected = rows(pyarrow.table(flow), OF_EVENTS)
    first, second = (pyarrow.RecordBatchReader.from_stream(flow) for _ in range(2))
    held = [first.read_next_batch()]
    flow.close()
    assert rows(pyarrow.Table.from_batches(second), OF_EVENTS) == expected
    held += first
    del first, second
    gc.collect()
    assert rows(pyarrow.Table.from_batches(held), OF_EVENTS) == expected
    column = held[0].column("event")
    del held
    gc.collect()
    assert column.to_pylist() == [row[OF_EVENTS.index("event")] for row in expected[: len(column)]]


def test_streams_are_released(flow):
    def held():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    flow.__arrow_c_stream__()  # a capsule that nobody takes
    before = held()
    for _ in range(3):
        flow.__arrow_c_stream__()
        flow.arrow()
        reader = pyarrow.RecordBatchReader.from_stream(flow)
        reader.read_next_batch()
        reader.close()
        pyarrow.table(flow)
    assert held() == before
    from kymo.arrow import _streams
    assert not _streams


def test_a_capsule_may_outlive_everything(recordings):
    code = "import kymo, sys; sys.kept = kymo.open(sys.argv[1]).__arrow_c_stream__(); del sys.modules['kymo.arrow']"
    done = subprocess.run([sys.executable, "-c", code, recordings["calls"]], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(BUILD / "python")})  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_pandas(recordings):
    pandas = pytest.importorskip("pandas", minversion="3.0")
    for name in "flow", "flow with gaps":
        with library.open(recordings[name]) as trace:
            frame, table = pandas.DataFrame.from_arrow(trace), pyarrow.table(trace)
        assert list(frame.columns) == table.column_names
        for column in table.column_names:
            there = frame[column].notna()
            assert there.tolist() == [value is not None for value in table[column].to_pylist()]
            assert frame[column][there].tolist() == [value for value in table[column].to_pylist() if value is not None]


def test_polars(recordings):
    polars = pytest.importorskip("polars")
    for name in "flow", "flow with gaps", "calls":
        with library.open(recordings[name]) as trace:
            frame, table = polars.DataFrame(trace), pyarrow.table(trace)
        assert frame.to_dict(as_series=False) == table.to_pydict()


def test_duckdb(recordings):
    duckdb = pytest.importorskip("duckdb")
    for name in "flow", "flow with gaps", "calls":
        with library.open(recordings[name]) as trace:
            table = pyarrow.table(trace)
            assert duckdb.sql("from trace").fetchall() == rows(table, table.column_names)
            part = trace.arrow(columns=["function"], kinds="PY_START")  # noqa: F841 - the query names it
            found = duckdb.sql("select function, count(*) from part group by all").fetchall()
        expected = {}
        for function, event in rows(table, ("function", "event")):
            expected[function] = expected.get(function, 0) + (event == "PY_START")
        assert dict(found) == {function: count for function, count in expected.items() if count}


@pytest.fixture
def export(tmp_path):
    def run(*words, **options):
        words = [KYMO, "export", f"--python={sys.executable}", *words]
        return subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, **options)
    return run


@pytest.mark.parametrize("name", ["flow", "full with gaps"])
def test_export(recordings, export, tmp_path, name):
    parquet = pytest.importorskip("pyarrow.parquet")
    with library.open(recordings[name]) as trace:
        table = pyarrow.table(trace)
    for form in "parquet", "arrow":
        done = export(recordings[name], f"--format={form}", "-o", form)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert parquet.read_table(tmp_path / "parquet").to_pydict() == table.to_pydict()
    with pyarrow.memory_map(str(tmp_path / "arrow")) as file:
        assert pyarrow.ipc.open_file(file).read_all().equals(table)
    done = export(recordings[name], "--format=arrow", "--kind=LINE,GAP", "--kind=MARK", "--thread=MainThread", "--to=1")
    kinds = {*pyarrow.ipc.open_file(done.stdout).read_all()["event"].to_pylist()}
    assert "LINE" in kinds <= {"LINE", "MARK", "GAP"}


@pytest.mark.parametrize("words", [
    ["--function=leaf"], ["--function=*.*"], ["--function=nothing"], ["--function=[lw]*", "--kind=PY_START,MARK"],
    ["--test=test_30"], ["--test=test_40|run"], ["--test=fork"],
    ["--test=fork", "--function=leaf", "--thread=MainThread"],
    ["--test=test_30", "--from={middle}ns"], ["--test=test_30", "--thread=MainThread", "--to={middle}ns"],
])  # fmt: skip
@pytest.mark.parametrize("name", ["contexts", "all of contexts"])
def test_export_has_the_events_that_the_command_prints(recordings, export, events, name, words):
    whole = events(recordings[name], "--test=test_30")
    words = [word.format(middle=whole[len(whole) // 2]["t_ns"]) for word in words]
    done = export(recordings[name], "--format=arrow", *words)
    assert (done.returncode, done.stderr) == (0, b"")
    found = rows(pyarrow.ipc.open_file(done.stdout).read_all(), OF_JSON)
    expected = printed(lambda path: events(path, *words), recordings[name])
    assert sorted(found, key=lambda row: row[:2]) == expected
    assert bool(expected) == ("--function=nothing" not in words)
    assert len(expected) < len(printed(events, recordings[name]))


def test_functions_and_tests(recordings):
    with library.open(recordings["contexts"]) as trace:
        assert {*pyarrow.table(trace.arrow(function="le?f"))["function"].to_pylist()} == {"leaf"}
        assert {*pyarrow.table(trace.arrow(test="test_40", kinds="MARK"))["name"].to_pylist()} == {
            "context:test_40|setup", "context:test_40|run", "context:"}  # fmt: skip
        with pytest.raises(library.Error, match="no test 'test_4' in the trace; it has 5, such as 'fork'"):
            trace.arrow(test="test_4")
    with library.open(recordings["full with gaps"]) as trace:
        whole, found = pyarrow.table(trace), pyarrow.table(trace.arrow(function="f"))
        assert "GAP" in whole["event"].to_pylist() and {*found["function"].to_pylist()} == {"f"}
    with library.open(recordings["calls"]) as trace:
        with pytest.raises(library.Error, match="nothing of the trace was recorded in a test"):
            trace.arrow(test="test_4")


def test_export_refuses(recordings, export, tmp_path):
    (tmp_path / "there").write_text("precious")
    trace = recordings["calls"]
    for message, status, words in [
        ("there: already exists; use -f to replace it", 1, (trace, "--format=arrow", "-o", "there")),
        ("none/where: No such file", 1, (trace, "--format=arrow", "-o", "none/where")),
        ("unknown event 'LIME'", 2, (trace, "--format=arrow", "--kind=LIME")),
        ("no test 'a' in the trace", 1, (recordings["contexts"], "--format=arrow", "--test=a")),
        ("nowhere: No such file or directory", 1, ("nowhere", "--format=parquet")),
        ("'soon' is not a time", 2, (trace, "--format=parquet", "--from=soon")),
        ("--min-duration chooses calls, and parquet has events, which have no duration", 2,
         (trace, "--format=parquet", "--min-duration=1ms")),
    ]:
        done = export(*words, text=True)
        assert (done.returncode, done.stdout) == (status, "") and message in done.stderr, done.stderr
        assert done.stderr.startswith("kymo") and done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["there"] and (tmp_path / "there").read_text() == "precious"
    assert export(trace, "--format=arrow", "-f", "-o", "there").returncode == 0
    assert (tmp_path / "there").read_bytes()[:6] == b"ARROW1"


def test_export_without_pyarrow_says_what_to_do(recordings):
    code = ("import sys; sys.path.insert(0, sys.argv[1]); sys.modules['pyarrow'] = None; from kymo.arrow.export import main; "
            "sys.exit(main(sys.argv[2:]))")
    words = [sys.executable, "-ISc", code, BUILD / "python", "export", "format=arrow", "--", recordings["calls"]]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert "it needs pyarrow" in done.stderr and "-m pip install pyarrow" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_command_hands_over(recordings, kymo, tmp_path):
    kymo("export", "--format=parquet", "-o", tmp_path / "out", "--kind=LINE", f"--python={sys.executable}",
         recordings["flow"])  # fmt: skip
    table = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "out")
    with library.open(recordings["flow"]) as trace:
        assert table.to_pydict() == pyarrow.table(trace.arrow(kinds="LINE")).to_pydict()
