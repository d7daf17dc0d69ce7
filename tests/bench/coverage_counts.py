# SPDX-License-Identifier: Apache-2.0
"""Coverage of a long trace: counting its lines and branches, and handing them to Python.

The trace is of real programs in eight threads, recorded until it has as many lines as wanted.
"""
import json
import subprocess
import sys
import time
from pathlib import Path

from measure import BUILD, HERE, KYMO, interval, progress, run, scratch, shown, table

sys.path.insert(0, str(BUILD / "python"))

LINES = 100_000_000


def count(path, contexts):
    """In a process of its own."""
    from kymo.coverage import counts

    start, cpu = time.perf_counter(), time.process_time()
    found = counts.read([path], contexts=contexts)
    costs = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print(json.dumps(costs | {
        "lines": sum(sum(file.lines.values()) for file in found.files),
        "branches": sum(sum(file.branches.values()) for file in found.files),
        "code objects": sum(len(file.functions) for file in found.files),
        "peak_mb": int(status["VmHWM"].split()[0]) / 1024,
    }))


def counted(path, contexts=False):
    words = [sys.executable, __file__, path, *(["contexts"] if contexts else [])]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)


def coverage_counts(options):
    with scratch() as folder:
        trace, rounds = folder / "flow.kymo", 11  # each thread has run each program once

        def record():
            progress(f"coverage-counts: recording {rounds} rounds")
            run([KYMO, "record", "-q", "-f", "-o", trace, sys.executable, HERE / "replay_program.py", str(rounds)])
            return counted(trace)

        found = record()
        if found["lines"] < LINES * options.scale:
            rounds = round(rounds * LINES * options.scale / found["lines"]) + 1
            found = record()
        samples = {}
        for name, contexts in (("counts", False), ("counts and contexts", True)):
            samples[name] = []
            for pair in range(options.pairs):
                progress(f"coverage-counts: {name}, {pair + 1} of {options.pairs}")
                samples[name].append(counted(trace, contexts))
    progress("")
    million = found["lines"] / 1e6
    table(f"coverage of {million:.0f} million lines and {found['branches'] / 1e6:.0f} million branches of "
          f"{found['code objects']} code objects",
          ["", "seconds", "CPU seconds", "million lines a CPU second", "peak MB"],
          [[name, shown(interval(each["seconds"] for each in costs)), shown(interval(each["cpu"] for each in costs)),
            shown(interval(million / each["cpu"] for each in costs), 0),
            f"{max(each['peak_mb'] for each in costs):.0f}"]
           for name, costs in samples.items()])
    return {"samples": samples} | found


if __name__ == "__main__":
    count(sys.argv[1], len(sys.argv) > 2)
