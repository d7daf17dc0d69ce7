# SPDX-License-Identifier: Apache-2.0
"""Profiles: calls are those that cProfile counts, and times add up."""

import json
import marshal
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from conftest import NEEDS_CXX, ROOT
from profile_recordings import FORMATS, export, folder, of_program, oracle, program, read, record, trace  # noqa: F401


def without_module(callers):
    return {key: value[:2] for key, value in callers.items() if key[2] != "<module>" and key[0] != "~"}


@pytest.mark.parametrize("options", [["--events=calls"], ["--events=flow"], ["--events=full"]], ids=lambda o: o[0][9:])
def test_pstats_has_the_calls_of_cprofile(options, record, program, export, oracle):
    ours = marshal.loads(export(record(program, *options), "pstats").read_bytes())
    theirs, ours = of_program(oracle(), program), of_program(ours, program)
    assert {key: value[:2] for key, value in ours.items()} == {key: value[:2] for key, value in theirs.items()}
    if options == ["--events=full"]:  # there, functions in C stand between some
        return
    for key in theirs:
        callers, expected = without_module(ours[key][4]), without_module(theirs[key][4])
        if sys.version_info >= (3, 14):  # cProfile looks for no caller behind a function in C
            callers = {caller: callers[caller] for caller in expected}
        assert callers == expected, key
    assert sum(len(without_module(value[4])) for value in theirs.values()) > 12


def test_functions_in_c_are_called_as_often_as_cprofile_says(record, program, export, oracle):
    """It does not count calls of types, which Kymo does."""
    trace = record(program, "--events=calls", "--c-calls")
    called = [times for times in read(trace, function="everything").times if times.function.is_c]
    ours = {times.function.name: times.calls for times in called}
    theirs = {}
    for (file, _, name), (_, calls, *_) in oracle("c").items():
        method = re.fullmatch(r"<method '(.*)' of '(.*)' objects>", name)
        builtin = re.fullmatch(r"<built-in method builtins\.(.*)>", name)
        if file == "~" and name != "<method 'disable' of '_lsprof.Profiler' objects>":
            theirs[f"{method[2]}.{method[1]}" if method else builtin[1]] = calls
    assert theirs.keys() <= ours.keys() and {"sum", "sorted", "next", "generator.throw"} <= theirs.keys()
    assert {name: ours[name] for name in theirs} == theirs
    labels = {key[2] for key in marshal.loads(export(trace, "pstats").read_bytes()) if key[0] == "~"}
    assert "<sum>" in labels


def check_sums(profile):
    """Self times add up to what was observed, and totals to what functions, nodes and children say."""
    observed = sum(thread.end_ns - thread.begin_ns - thread.outside_ns for thread in profile.threads)
    assert sum(node.self_ns for node in profile.nodes) == observed == sum(times.self_ns for times in profile.times)
    selves, totals, calls, errors = (defaultdict(int) for _ in range(4))
    for node in profile.nodes:
        assert node.self_ns >= 0 and node.total_ns == node.self_ns + sum(child.total_ns for child in node.children)
        assert node.thread in profile.threads and all(child.parent is node for child in node.children)
        selves[node.function] += node.self_ns
        errors[node.function] += node.self_err_ns
        calls[node.function] += node.calls
        if all(above.function != node.function for above in node.path()[:-1]):
            totals[node.function] += node.total_ns
    for times in profile.times:
        of = times.function
        assert (times.self_ns, times.total_ns, times.calls) == (selves[of], totals[of], calls[of])
        assert times.self_err_ns <= errors[of] and times.outermost <= times.calls + times.resumes


@pytest.mark.parametrize("options", [
    ["--clock=sampled"], ["--clock=exact"], ["--clock=none"], ["--events=calls"], ["--events=calls", "--c-calls"],
    ["--events=full", "--clock=exact"],
], ids=" ".join)
def test_times_add_up(options, record, program):
    trace = record(program, *options)
    for lines in False, True:
        check_sums(read(trace, lines=lines))
    check_sums(read(trace, function="fib"))
    if "--clock=exact" in options:
        assert not any(times.self_err_ns or times.total_err_ns for times in read(trace).times)


CLOCKED = """
import json, sys, time
spent = {}
def clocked(function):
    def run(*args):
        begin = time.monotonic_ns()
        function(*args)
        spent.setdefault(function.__name__, []).append(time.monotonic_ns() - begin)
    return run
@clocked
def spin(n):
    for i in range(n): pass
@clocked
def sleep(seconds):
    time.sleep(seconds)
@clocked
def many(n):
    for i in range(n): small()
def small(): pass
for i in range(5):
    spin(20000)
    sleep(0.003)
    many(500)
json.dump(spent, open(sys.argv[1], "w"))
"""


@pytest.mark.parametrize("clock", ["sampled", "exact"])
def test_bounds_of_errors_hold(clock, kymo, folder):
    """The program's own clock is read around each function: what it took is no more than that, nor much less."""
    script, out, trace = (folder / f"clocked-{clock}.{end}" for end in ("py", "json", "kymo"))
    script.write_text(CLOCKED)
    kymo("record", "-q", "-o", trace, "--events=calls", f"--clock={clock}", "--", script, out)
    spent = json.loads(out.read_text())
    by_name = {times.function.name: times for times in read(trace).times if times.function.file == str(script)}
    for name in ("spin", "sleep", "many"):
        times = by_name[name]
        assert times.total_ns - times.total_err_ns <= sum(spent[name]), name
    outer = by_name["clocked.<locals>.run"]
    assert outer.calls == 15 and outer.total_ns + outer.total_err_ns >= sum(map(sum, spent.values()))


def test_line_times_are_those_of_functions(record, program):
    profile = read(record(program, "--clock=exact"), lines=True)
    own = [times for times in profile.times if times.function.file == str(program)]
    own = [times for times in own if times.function.name != "<module>"]
    hits = {(line.function.name, line.line - line.function.line): line.hits for line in profile.lines}
    assert hits["fib", 1] == 510 and hits["throwing", 2] == 1 and hits["throwing", 3] == 20
    for times in own:
        assert sum(line.self_ns for line in profile.lines if line.function == times.function) == times.self_ns
    lines = {node.call_line - node.parent.function.line for node in profile.nodes if node.function.name == "closing"}
    assert lines == {7}


THREADS = """
import os, sys, threading
def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)
threads = [threading.Thread(target=work, args=(10,), name=f"worker;{n}") for n in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
def deep(n):
    if not n:
        sys.stdout.flush()
        os._exit(3)
    deep(n - 1)
deep(10)
"""


def test_threads_and_calls_that_did_not_end(record, folder, export):
    script = folder / "threads.py"
    script.write_text(THREADS)
    trace = record(script, "--events=calls", status=3)
    profile = read(trace)
    check_sums(profile)
    work = Counter()
    for node in profile.nodes:
        work[node.thread.name] += node.calls if node.function.name == "work" else 0
    assert {name: count for name, count in work.items() if count} == {f"worker;{n}": 177 for n in range(3)}
    deep = [node for node in profile.nodes if node.function.name == "deep"]
    assert [node.calls for node in deep] == [1] * 11 and all(node.is_cut for node in deep)
    assert sum(times.calls for times in read(trace, thread="worker;1").times if times.function.name == "work") == 177
    for form in FORMATS:
        export(trace, form)


FORKS = """
import os
def work(n):
    return n and work(n - 1)
def child():
    work(4)
work(2)
for i in range(2):
    pid = os.fork()
    if not pid:
        child()
        os._exit(0)
    os.waitpid(pid, 0)
"""


def test_forks(record, folder):
    """Functions are the same in each process; what a fork found on the stack is no call."""
    script = folder / "forks.py"
    script.write_text(FORKS)
    trace = record(script, "--events=calls")
    profile = read(trace)
    check_sums(profile)
    calls = {times.function.name: times.calls for times in profile.times if times.function.file == str(script)}
    assert calls == {"<module>": 1, "work": 3 + 2 * 5, "child": 2}
    pids = {thread.pid for thread in profile.threads}
    parts = [read(trace, process=pid).times for pid in pids]
    assert sorted(sum(each.calls for each in part if each.function.name == "work") for part in parts) == [3, 5, 5]


GAPS = """
def leaf(): pass
def outer():
    for i in range(30000): leaf()
outer()
"""


def test_calls_of_gaps_are_missing_and_counted(record, folder, export, capsys):
    script = folder / "gaps.py"
    script.write_text(GAPS)
    trace = record(script, "--events=calls", "--policy=overwrite", "--ring-size=64K")
    profile = read(trace)
    check_sums(profile)
    leaf = next(times for times in profile.times if times.function.name == "leaf")
    assert 0 < leaf.calls < 30000 and profile.lost >= 2 * (30000 - leaf.calls)
    assert next(node for node in profile.nodes if node.function.name == "outer").is_cut
    for form in FORMATS:
        export(trace, form)
        assert "events were lost" in capsys.readouterr().err


def test_slices(trace):
    whole = read(trace)
    middle = (whole.begin_ns + whole.end_ns) // 2
    parts = read(trace, to_ns=middle), read(trace, from_ns=middle)
    for part in parts:
        check_sums(part)
    for times in whole.times:
        calls = [each.calls for part in parts for each in part.times if each.function == times.function]
        assert sum(calls) == times.calls
    long = read(trace, min_duration_ns=100_000)
    assert long.nodes and all(node.total_ns >= 100_000 * node.calls for node in long.nodes)
    assert not read(trace, process=1).nodes
    with pytest.raises(OSError, match="No such file"):
        read("nothing.kymo")


def test_trace_profile(trace, program):
    import kymo

    with kymo.open(trace) as opened:
        (index,) = [i for i, thread in enumerate(opened.threads) if thread["name"] == "MainThread"]
        profile = opened.profile(thread=index, function="fib")
        assert {times.function.name: times.calls for times in profile.times} == {"fib": 510}
        assert not profile.lines and opened.profile(lines=True).lines
        assert not opened.profile(end_ns=0).nodes
    with pytest.raises(ValueError, match="closed"):
        opened.profile()


@pytest.mark.parametrize("language", ["c", pytest.param("c++", marks=NEEDS_CXX)])
def test_other_programs_have_the_same_calls(language, build, trace, folder):
    library = Path(build / "python/kymo/libkymo-replay.so").resolve()
    source, program = folder / "calls.c", folder / f"calls-{language}"
    source.write_text(CALLS)
    words = ["cc", "-Wall", "-Werror", "-x", language, "-I", ROOT, source, "-x", "none", library, "-o", program]
    subprocess.run([*words, f"-Wl,-rpath,{library.parent}"], check=True)
    told = subprocess.run([program, trace], capture_output=True, text=True, check=True).stdout.split()
    profile = read(trace)
    assert told == [str(sum(times.calls for times in profile.times)), str(sum(node.self_ns for node in profile.nodes))]


CALLS = """
#include "replay/library/profile.h"
#include <stdio.h>

int main(int argc, char **argv)
{
	struct kymo_profile_slice slice = {sizeof slice, INT64_MIN, INT64_MAX, 0, 0, NULL, NULL, NULL, 0};
	const struct kymo_profile *profile;
	unsigned long long calls = 0;
	long long ns = 0;
	char error[512];

	if (kymo_profile_read(argv[argc - 1], &slice, &profile, error, sizeof error))
		return 1;
	for (uint64_t i = 0; i < profile->function_count; i++)
		calls += profile->functions[i].calls;
	for (uint64_t i = 0; i < profile->node_count; i++)
		ns += profile->nodes[i].self_ns;
	printf("%llu %lld\\n", calls, ns);
	kymo_profile_free(profile);
	return 0;
}
"""


def stats_rows(kymo, *words, check=True):
    row = r"^ +([\d,]+) +([\d,]+ +)?(<?[\d.]+ [num]?s) +(<?[\d.]+ [num]?s)  (.*)$"
    rows = re.findall(row, kymo("stats", *words, check=check).stdout, re.M)
    return {name: (int(calls.replace(",", "")), int(resumes or 0)) for calls, resumes, _, _, name in rows}


def test_stats_of_callers_and_callees(kymo, trace, oracle):
    """What cProfile counts of a generator is three calls and the resumes."""
    (entries,) = [value[1] for key, value in oracle().items() if key[2] == "numbers"]
    assert stats_rows(kymo, "--callers=even", trace) == {
        "in all": (5, 0), "odd (program.py:10)": (4, 0), "everything (program.py:62)": (1, 0),
    }
    assert stats_rows(kymo, "--callees", "numbers", trace) == {
        "in all": (3, entries - 3), "fib (program.py:4)": (9, 0),
    }
    assert stats_rows(kymo, "--callees=num*", "--to=0", "--from=0", trace, check=False) == {}
    done = kymo("stats", "--callers=nothing*", trace, check=False)
    assert done.returncode == 1 and "no function that ran matches 'nothing*'" in done.stderr
