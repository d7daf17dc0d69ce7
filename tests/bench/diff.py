# SPDX-License-Identifier: Apache-2.0
"""Comparing two traces of ten million lines: the same, one change in the middle, one in every call, nothing in common."""
import os
import subprocess
import time

from measure import KYMO, progress, run, scratch, table

LINES = 10_000_000
PROGRAM = """
import sys
rounds, change = int(sys.argv[1]), int(sys.argv[2])

def double(n):
    if n % 3:
        return n * 2
    return n

def each(n):
    total = 0
    for i in range(5):
        total += double(n + i)
    return total

def odd(n):
    if n == change or change == -2:
        n += 1
    return n

def main():
    total = 0
    for n in range(rounds):
        total += each(n)
        odd(n)

main()
"""
OTHER = """
import sys

class Counter:
    def __init__(self):
        self.total = 0

    def step(self, n):
        while n > 3:
            n -= 3
        self.total ^= n
        return self.total

def run():
    counter = Counter()
    for n in range(int(sys.argv[1])):
        counter.step(n % 17)

run()
"""
LINES_A_ROUND = {"program.py": 28, "other.py": 9.1}
PAIRS = {"the same": ("same", "again"), "one change in the middle": ("same", "changed"),
         "a change in every call of one function": ("same", "odd"), "nothing in common": ("same", "other")}


def compare(names):
    """Seconds, seconds of processors, and megabytes of one comparison; that they differ is no failure."""
    start = time.perf_counter()
    child = subprocess.Popen([KYMO, "diff", "--json", *names], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode in (0, 1), names
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def diff(options):
    lines, results = LINES * options.scale, {}
    rounds = round(lines / LINES_A_ROUND["program.py"])
    runs = {"same": ("program.py", -1), "again": ("program.py", -1), "changed": ("program.py", rounds // 2), "odd": ("program.py", -2),
            "other": ("other.py", 0)}
    with scratch() as folder:
        (folder / "program.py").write_text(PROGRAM)
        (folder / "other.py").write_text(OTHER)
        for name, (script, change) in runs.items():
            progress(f"diff: recording {name}")
            run([KYMO, "record", "-q", "-o", folder / f"{name}.kymo", folder / script, str(round(lines / LINES_A_ROUND[script])), str(change)])
            run([KYMO, "index", folder / f"{name}.kymo"])
        for pair, names in PAIRS.items():
            progress(f"diff: {pair}")
            seconds, cpu, peak = zip(*(compare([folder / f"{name}.kymo" for name in names]) for _ in range(options.pairs)))
            results[pair] = {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": max(peak)}
    progress("")
    table(f"two traces of {lines / 1e6:.1f} million lines", ["", "seconds", "processor seconds", "peak memory, MB"],
          [[pair, f"{min(found['seconds']):.1f}", f"{min(found['cpu_seconds']):.1f}", f"{found['peak_mb']:.0f}"]
           for pair, found in results.items()])
    return results
