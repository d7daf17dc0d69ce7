# SPDX-License-Identifier: Apache-2.0
"""The first profile of a program is right: with no options, its functions took what the program itself measured."""
import json
import pstats
import statistics

import pytest
from kymo.profile._tree import read

PROGRAM = """\
import json, sys, time

now = time.perf_counter_ns
took = {}
DATA = [(i * 7919) % 3001 for i in range(3000)]

def add(name, since):
    took[name] = took.get(name, 0) + now() - since

def tiny(n):
    return n + 1

def sort_all():
    since = now()
    sorted(DATA)
    add("sort_all", since)

def sort_some():
    since = now()
    sorted(DATA[:600])
    add("sort_some", since)

def spin(ms):
    since = now()
    while now() < since + ms * 1_000_000:
        pass
    add("spin", since)

def nap(ms):
    since = now()
    time.sleep(ms / 1000)
    add("nap", since)

def bursts():
    for _ in range(300):
        for n in range(80):
            tiny(n)
        sort_all()

def steady():
    for n in range(2000):
        tiny(n)
        tiny(n)
        sort_some()

def mixed():
    spin(40)
    nap(20)
    spin(20)
    nap(10)

bursts()
steady()
mixed()
json.dump(took, open(sys.argv[1], "w"))
"""


RUNS = 5


@pytest.fixture(scope="module", params=[[], ["--events=calls"], ["--clock=exact"]], ids=["default", "calls", "exact"])
def runs(request, kymo, tmp_path_factory):
    """Traces, each with what the program says its functions took, in nanoseconds."""
    folder = tmp_path_factory.mktemp("times")
    (folder / "program.py").write_text(PROGRAM)
    measured = []
    for n in range(RUNS):
        trace, took = folder / f"run{n}.kymo", folder / f"took{n}.json"
        kymo("record", "-q", "-o", trace, *request.param, folder / "program.py", took, cwd=folder)
        measured.append((trace, json.loads(took.read_text())))
    return measured


@pytest.fixture
def measured(runs):
    return runs[0]


def test_functions_took_what_the_program_measured(runs):
    """
    Most of the time of two of them is between calls that are a thousand times as short and a hundred times as many.

    Where another program gets the processor just before a function begins, its clock and Kymo's differ by a time slice, half as
    long as all calls of some: that happens in a few of the runs.
    """
    owns = [{times.function.name: times.self_ns for times in read(trace).times} for trace, _ in runs]

    def usual(of, than):
        return statistics.median(of(own, took) / than(own, took) for own, (_, took) in zip(owns, runs, strict=True))

    for name in runs[0][1]:
        ratio = usual(lambda own, _: own[name], lambda _, took: took[name])
        assert 0.7 < ratio < 1.4, (name, ratio, owns, runs)
    assert usual(lambda own, _: own["tiny"], lambda own, _: own["sort_all"]) < 0.5
    assert usual(lambda own, _: own["mixed"], lambda own, _: own["nap"]) < 0.25


def test_own_times_are_the_whole(measured, kymo, tmp_path):
    trace, _ = measured
    profile = read(trace)
    whole = sum(thread.end_ns - thread.begin_ns - thread.outside_ns for thread in profile.threads)
    assert sum(times.self_ns for times in profile.times) == sum(node.self_ns for node in profile.nodes) == whole
    assert sum(node.total_ns for node in profile.roots) == whole
    kymo("export", "--format=pstats", "-o", tmp_path / "run.pstats", trace)
    assert pstats.Stats(str(tmp_path / "run.pstats")).total_tt == pytest.approx(whole / 1e9, rel=1e-6)
    stacks = kymo("export", "--format=collapsed", trace).stdout.splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in stacks) == whole
    costs = kymo("export", "--format=callgrind", trace).stdout
    assert int(costs.rpartition("totals: ")[2].split()[0]) == pytest.approx(whole, rel=1e-6)


def test_what_a_newcomer_sees(measured, kymo):
    trace, took = measured
    table = kymo("top", "-n", "4", trace).stdout
    assert "<" not in table.replace("<module>", "") and "~" not in table
    first = [line.split()[5] for line in table.splitlines()[2:6]]
    assert set(first) >= set(sorted(took, key=took.get)[-2:])
