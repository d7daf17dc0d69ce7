# SPDX-License-Identifier: Apache-2.0
"""What `kymo export` writes, opened by the programs that it is for; counts held against cProfile of the same program."""
import json
import pstats
import re
import subprocess
import sys
from collections import Counter

import pytest

from conftest import environment
from browser import Browser
from viewers import Firefox, ask_perfetto, ask_speedscope, check_speedscope

NAMES = ["<script>alert('x')</script>", 'quo"te\\back', "new\nline\ttab", "snow☃𝔘man", "\x1b[31mred\x7f"]
PROGRAM = f"""
import asyncio

NAMES = {NAMES!r}

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def generate(n):
    for i in range(n):
        try:
            yield i
        except ValueError:
            pass

def delegate(n):
    yield from generate(n)

def dive(n):
    if not n:
        raise KeyError("deep")
    dive(n - 1)

def survive():
    try:
        dive(30)
    except KeyError:
        return True

class Thing:
    def method(self):
        return [self.helper(i) for i in range(3)]

    @staticmethod
    def helper(i):
        return i

async def sleep(n):
    for _ in range(n):
        await asyncio.sleep(0)

async def gather():
    await asyncio.gather(sleep(3), sleep(4))

def named():
    pass

def main():
    fib(12)
    list(delegate(4))
    generator = generate(3)
    next(generator)
    generator.throw(ValueError())
    generator.close()
    survive()
    Thing().method()
    asyncio.run(gather())
    for name in NAMES:
        type(named)(named.__code__.replace(co_name=name, co_qualname=name), {{}})()

main()
"""
CALLS = "category in ('call', 'C call')"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("viewers")


@pytest.fixture(scope="module")
def program(folder):
    (folder / "program.py").write_text(PROGRAM)
    return folder / "program.py"


@pytest.fixture(scope="module")
def exported(kymo, program, folder):
    """The path of a format's file, of the program recorded once; the events are those of cProfile, and all have a time."""
    kymo("record", "-q", "-o", folder / "run.kymo", "--events=calls", program)

    def export(name, *options, trace=folder / "run.kymo"):
        output = folder / f"{trace.stem}.{name}.json"
        kymo("export", f"--format={name}", "-f", "-o", output, *options, trace)
        return output
    return export


@pytest.fixture(scope="module")
def profiled(program, folder):
    """How often each function of the program ran by cProfile, goings-on included, by its name and first line."""
    subprocess.run([sys.executable, "-m", "cProfile", "-o", folder / "run.pstats", program], env=environment(), check=True)
    stats = pstats.Stats(str(folder / "run.pstats")).stats
    return {(name.rpartition(".")[2], line): counts[1] for (file, line, name), counts in stats.items() if file == str(program)}


def by_function(rows, program):
    """The same of (file, line, qualified name, count); names as cProfile's of any version."""
    return {(name.rpartition(".")[2], line): count for file, line, name, count in rows if file == str(program)}


PERFETTO_COUNTS = """select extract_arg(arg_set_id, 'source.file_name'), extract_arg(arg_set_id, 'source.line_number'), name, count(*)
    from slice where category = 'call' group by 1, 2, 3"""
CHROME_COUNTS = PERFETTO_COUNTS.replace("source.file_name", "args.file").replace("source.line_number", "args.line")
NESTING = f"select name, depth, count(*), sum(dur) from slice where {CALLS} group by 1, 2 order by 1, 2"


@pytest.fixture(scope="module")
def both(exported):
    return ask_perfetto(
        [exported("perfetto"), PERFETTO_COUNTS, NESTING, "select name from slice where category = 'exception'",
         "select sum(dur), count(*) from slice where depth = 0 and " + CALLS,
         "select t.name, t.tid = p.pid, p.name from thread t join process p using (upid) where p.pid",
         "select name, count(*) from slice where dur < 0 group by 1",
         "select dur, extract_arg(arg_set_id, 'debug.duration_error_ns') from slice where " + CALLS],
        [exported("chrome"), CHROME_COUNTS, NESTING])


@pytest.fixture(scope="module")
def perfetto(both):
    return both[0]


def test_perfetto_counts_are_those_of_cprofile(perfetto, profiled, program):
    counted = by_function(perfetto[0], program)
    # Code that was renamed is on the line of what it was made of.
    assert counted == profiled and len(counted) > 15


def test_perfetto_has_threads_exceptions_and_no_open_ends(perfetto):
    (_, _, raised, _, threads, unended, _) = perfetto
    assert threads == [["MainThread", 1, "program.py"]]
    assert [name for (name,) in raised].count("KeyError") >= 1
    assert unended == []


def test_perfetto_marks_durations_below_their_error(perfetto):
    durations = perfetto[6]
    marked = [(duration, error) for duration, error in durations if error is not None]
    # Times are cut to the digit of their error: a duration that is shown may be longer than it was by that.
    assert marked and all(duration <= 2 * error for duration, error in marked)
    assert len(marked) < len(durations)


def test_chrome_is_the_same_as_perfetto(both, profiled, program):
    # Its reader of JSON leaves escapes of control characters in names as they are.
    def legible(rows, column):
        return [row for row in rows if row[column].isprintable() and not re.search(r"\\n|\\u00", row[column])]

    perfetto, (counts, nesting) = both
    assert by_function(legible(counts, 2), program) == {key: count for key, count in profiled.items() if key[0].isprintable()}
    assert legible(nesting, 0) == legible(perfetto[1], 0)


def test_names_come_through(perfetto, exported):
    named = {name for _, _, name, _ in perfetto[0]}
    assert set(NAMES) <= named
    assert set(NAMES) <= {event.get("name") for event in json.loads(exported("chrome").read_text())["traceEvents"]}
    assert set(NAMES) <= {frame["name"] for frame in json.loads(exported("speedscope").read_text())["shared"]["frames"]}


def test_speedscope_is_the_same_as_perfetto(perfetto, exported, profiled, program):
    profile = json.loads(exported("speedscope").read_text())
    check_speedscope(profile)
    frames = profile["shared"]["frames"]
    counts, nesting, stack = Counter(), Counter(), []
    for event in profile["profiles"][0]["events"]:
        frame = frames[event["frame"]]
        if event["type"] == "O":
            nesting[frame["name"], len(stack)] += 1
            counts[frame.get("file"), frame.get("line"), frame["name"]] += 1
            stack.append(frame)
        else:
            stack.pop()
    assert by_function([(*key, count) for key, count in counts.items()], program) == profiled
    assert nesting == Counter({(name, depth): count for name, depth, count, _ in perfetto[1]})


def test_speedscope_itself_opens_it(exported, tmp_path):
    profile = json.loads(exported("speedscope").read_text())
    alone, stack, before = Counter(), [], 0
    for event in profile["profiles"][0]["events"]:
        if stack:
            alone[stack[-1]] += event["at"] - before
        before = event["at"]
        stack.append(event["frame"]) if event["type"] == "O" else stack.pop()
    browser = Browser(tmp_path / "profile")
    try:
        names = ask_speedscope(browser, exported("speedscope"))
    finally:
        browser.close()
    longest = [profile["shared"]["frames"][frame]["name"] for frame, _ in alone.most_common(5)]
    assert names[:5] == longest


def test_firefox_has_the_times_of_perfetto(perfetto, exported, tmp_path_factory):
    with Firefox(exported("gecko"), tmp_path_factory.mktemp("f")) as firefox:
        functions = firefox.ask("thread", "functions")
        markers = firefox.ask("thread", "markers")["byType"]
    assert functions["weightType"] == "tracing-ms"
    # Not recursive and all in one place: what it took with all that it called is what its slices took.
    of_perfetto = {name: took for name, depth, _, took in perfetto[1] if name in ("survive", "Thing.method", "gather")}
    seen = {row["name"]: round(row["totalSamples"] * 1e6) for row in functions["functions"]}
    alone = Counter(name for name, *_ in perfetto[1])
    compared = [name for name, took in of_perfetto.items() if alone[name] == 1]
    assert compared and {name: seen.get(name, 0) for name in compared} == {name: of_perfetto[name] for name in compared}
    assert round(sum(row["selfSamples"] for row in functions["functions"]) * 1e6) == perfetto[3][0][0]
    told = {row["markerName"]: row["count"] for row in markers}
    assert told["Exception"] == len(perfetto[2]) and told["Note"] == 1


HARD = """
import os, sys, threading, time

def spin(n):
    for _ in range(n):
        step()

def step():
    pass

def nested(n):
    return nested(n - 1) if n else spin(3)

def child():
    nested(5)
    os._exit(0)

threads = [threading.Thread(target=spin, args=[50], name=f"worker {i}") for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
pid = os.fork()
if not pid:
    child()
os.waitpid(pid, 0)
nested(100)
os._exit(0)
"""


@pytest.fixture(scope="module")
def hard(kymo, folder):
    """Threads, a fork, C functions, and calls that are open at the end."""
    (folder / "hard.py").write_text(HARD)
    kymo("record", "-q", "-o", folder / "hard.kymo", "--events=calls", "--c-calls", folder / "hard.py")
    return folder / "hard.kymo"


@pytest.fixture(scope="module")
def lossy(kymo, folder):
    """Gaps wherever the ring was full, nested calls on both sides."""
    (folder / "lossy.py").write_text(HARD.replace("args=[50]", "args=[5_000]").replace("nested(100)", "[nested(100) for _ in range(300)]"))
    kymo("record", "-q", "-o", folder / "lossy.kymo", "--events=calls", "--policy=drop", "--ring-size=4K", folder / "lossy.py")
    assert int(re.search(r"lost +([\d,]+)", kymo("stats", folder / "lossy.kymo").stdout)[1].replace(",", ""))
    return folder / "lossy.kymo"


def gaps_of(events, trace):
    return Counter((event["tid"], event["lost"]) for event in events(trace, "--kind=GAP"))


def test_threads_forks_and_what_is_open_at_the_end(hard, exported, events):
    endings = """select name, extract_arg(arg_set_id, 'debug.ended'), count(*) from slice
        where extract_arg(arg_set_id, 'debug.ended') = 'still ran at the end' group by 1, 2"""
    (nesting, open_calls, threads, c_calls), (of_chrome,) = ask_perfetto(
        [exported("perfetto", trace=hard), NESTING, endings,
         "select p.pid, t.name from thread t join process p using (upid) where p.pid order by p.pid, t.tid",
         "select name, count(*) from slice where category = 'C call' group by 1"],
        [exported("chrome", trace=hard), NESTING])
    assert nesting == of_chrome
    everything = events(hard)
    assert len(threads) == 6 and len({pid for pid, _ in threads}) == 2
    assert {f"worker {i}" for i in range(4)} <= {name for _, name in threads}
    assert dict(c_calls)["posix.waitpid"] == 1
    # os._exit() never came back, in either process; nor did what had called it.
    assert {name: count for name, _, count in open_calls if name in ("posix._exit", "_exit", "child")}.get("child") == 1
    starts = Counter(event["function"] for event in everything if event["event"] in ("PY_START", "PY_RESUME"))
    for name in ("spin", "step", "nested"):
        assert sum(count for row, _, count, _ in nesting if row == name) == starts[name]
    check_speedscope(json.loads(exported("speedscope", trace=hard).read_text()))


def test_gaps(lossy, exported, events):
    gaps = gaps_of(events, lossy)
    (shown, nesting, unended), (of_chrome,) = ask_perfetto(
        [exported("perfetto", trace=lossy),
         """select t.tid, s.name from slice s join thread_track k on s.track_id = k.id join thread t using (utid)
            where category = 'gap'""", NESTING, "select count(*) from slice where dur < 0"],
        [exported("chrome", trace=lossy), NESTING])
    assert Counter((tid, int(re.match(r"([\d,]+) events? lost \(full\)", name)[1].replace(",", ""))) for tid, name in shown) == gaps
    assert unended == [[0]]
    assert nesting == of_chrome
    profile = json.loads(exported("speedscope", trace=lossy).read_text())
    check_speedscope(profile)
    assert "[events lost: full]" in {frame["name"] for frame in profile["shared"]["frames"]}
    lost = [int(found[1].replace(",", "")) for one in profile["profiles"]
            if (found := re.search(r"([\d,]+) events? lost", one["name"]))]
    assert sum(lost) == sum(count * times for (_, count), times in gaps.items())


TASKS = """
import asyncio, json, sys

steps = {}

def step():
    name = asyncio.current_task().get_name()
    steps[name] = steps.get(name, 0) + 1

async def inner(n):
    for _ in range(n):
        await asyncio.sleep(0)
        step()

async def outer(n):
    step()
    await inner(n)

async def main():
    asyncio.current_task().set_name('<b>"main"</b>')
    step()
    await asyncio.gather(*(asyncio.create_task(outer(n), name=f"job {n}") for n in range(1, 5)))
    step()

asyncio.run(main())
json.dump(steps, open(sys.argv[1], "w"))
"""


def test_tasks_have_tracks_of_their_steps(record, exported, tmp_path):
    (tmp_path / "tasks.py").write_text(TASKS)
    trace = record([tmp_path / "tasks.py", tmp_path / "steps.json"], "--events=calls", output=tmp_path / "tasks.kymo")
    steps = json.loads((tmp_path / "steps.json").read_text())
    of_tasks = """select t.name, s.name, count(*) from slice s join track t on s.track_id = t.id where category = 'task'
        group by 1, 2 order by 1, 2"""
    ((rows, depths, unended),) = ask_perfetto([exported("perfetto", trace=trace), of_tasks,
                                               "select distinct depth from slice where category = 'task'",
                                               "select count(*) from slice where category = 'task' and dur < 0"])
    # asyncio.run() has tasks of its own in the end.
    of_program = [row for row in rows if row[0] in steps]
    assert {name: count for name, _, count in of_program} == steps
    assert {name: function for name, function, _ in of_program} == {name: "main" if "main" in name else "outer" for name in steps}
    assert (depths, unended) == ([[0]], [[0]])
    begun = Counter(event["name"] for event in json.loads(exported("chrome", trace=trace).read_text())["traceEvents"]
                    if event["ph"] == "b" and event["cat"] == "task")
    assert begun == Counter({name: count for name, _, count in rows})
