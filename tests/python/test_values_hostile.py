# SPDX-License-Identifier: Apache-2.0
"""A program whose objects notice everything does not notice that they are recorded; and what is recorded is of one moment."""
import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from conftest import environment

PROGRAM = Path(__file__).parent / "programs" / "hostile_values.py"
NUMPY = ["numpy"] if importlib.util.find_spec("numpy") else []


@pytest.fixture
def compare(record, python, tmp_path):
    """Run the program with @words plain and with each list of options; returns the traces."""
    def run(words, *ways):
        plain = subprocess.run([python, PROGRAM, *words], env=environment(), capture_output=True, text=True, timeout=300)
        assert plain.returncode == 7, plain.stderr
        traces = []
        for i, options in enumerate(ways):
            with open(tmp_path / "output", "w+") as output:
                traces.append(record([PROGRAM, *words], "--no-stdlib", "--no-sources", *options, status=7, output=tmp_path / f"{i}.kymo",
                                     capture_output=False, stdout=output))
                output.seek(0)
                seen = output.read()
            for told, expected in zip(seen.splitlines(), plain.stdout.splitlines(), strict=True):
                assert told == expected, options
        return traces
    return run


@pytest.mark.skipif(not hasattr(sys, "gettotalrefcount"), reason="this is no debug build of CPython")
def test_references_are_counted(build):
    """Those that the extension takes and gives back, too: it was compiled for such a build."""
    assert b"_Py_INCREF_IncRefTotal" in (build / "python" / "kymo" / f"_kymo{sysconfig.get_config_var('EXT_SUFFIX')}").read_bytes()


@pytest.mark.parametrize("options", [
    ["--values=args", "--events=calls"], ["--values=locals"], ["--values=locals", "--events=full", "--policy=drop"],
    ["--values=globals", "--values-limits=depth=32,items=10000,text=10000,bytes=16384"],
], ids=" ".join)  # fmt: skip
def test_a_program_notices_nothing(compare, kymo, options):
    """Its output: methods that were called, references, the collector's counts, objects and memory; and its status."""
    names = "take", "use*", "generate", "throw", "frames", "ends*"
    trace, = compare(NUMPY, [*options, *(f"--values-for={name}" for name in names)])
    kymo("verify", trace)
    told = kymo("events", "--function=take", "--kind=PY_START", trace).stdout
    assert "value=<Plain at 0x" in told and "value=Mydict({'a': <Plain at 0x" in told and "value=Color.RED" in told


def test_of_large_objects_a_little_is_read(compare, kymo):
    if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 6 << 30:
        pytest.skip("there is too little memory")
    trace, = compare(["large"], ["--values=locals", "--values-for=take", "--values-for=use*"])
    assert trace.stat().st_size < 1 << 22
    told = kymo("events", "--function=take", "--kind=PY_START", trace).stdout
    for cut in 2**30 - 200, 2**24 - 66, 10_000_000 - 20, 1_000_000 - 20, 2**24 - 200:
        assert f"…+{cut}" in told, cut
    assert f"value=≈2**{1 << 24}," in told


CHANGING = """
import sys, threading
sys.setswitchinterval(1e-6)

class Thing:
    pass

def look(items, table, thing, numbers):
    first = items
    second = table, thing
    third = numbers
    return first

def until_seen(change):
    i = 0
    while len(seen) < 9 or looks < 500:
        i += 1
        change(i)

def change_list(i):
    items[:] = [i] * (i % 19)

def change_dict(i):
    table.clear()
    table.update(dict.fromkeys(range(i % 19), i))

def change_object(i):
    thing.__dict__ = {"a": i, "b": i}
    del thing.__dict__

def change_set(i):
    numbers.clear()
    numbers.update(range(i % 19))

items, table, thing, numbers, seen, looks = [], {}, Thing(), set(), set(), 0
threads = [threading.Thread(target=until_seen, args=(each,)) for each in (change_list, change_dict, change_object, change_set)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    seen.add(len(look(items, table, thing, numbers)))
    looks += 1
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("scope", ["args", "locals"])
def test_what_other_threads_change_is_told_as_it_was_at_one_moment(record, kymo, events, scope):
    trace = record(CHANGING, f"--values={scope}", "--values-for=look", "--no-stdlib")
    kymo("verify", trace)
    lengths = set()
    for event in events(trace, "--function=look"):
        for name, value in event.get("values", {}).items():
            if name == "items" or name == "first":
                numbers = {item["text"] for item in value["items"]}
                assert len(numbers) <= 1 and all(int(number) % 19 == value["length"] for number in numbers)
                lengths.add(value["length"])
            elif name == "table":
                numbers = {pair[1]["text"] for pair in value["items"]}
                assert len(numbers) <= 1 and all(int(number) % 19 == value["length"] for number in numbers)
            elif name == "thing":
                told = value["attributes"]
                assert not told or told["a"] == told["b"]
            elif name == "numbers":
                assert [item["text"] for item in value["items"]] == [str(i) for i in range(value["length"])]
    assert len(lengths) > 1
