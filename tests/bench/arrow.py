# SPDX-License-Identifier: Apache-2.0
"""Traces as Arrow batches, for a consumer that releases each as soon as it has it: rows a second, over 50 million.

The traces are of real programs in eight threads, recorded until they have as many rows as wanted.
"""
import json
import subprocess
import sys

from measure import BUILD, HERE, KYMO, interval, progress, run, scratch, shown, table

ROWS = 50_000_000
TARGET = 50_000_000  # a second
COLUMNS = {"all columns": [], "event, function, t_ns": ["event,function,t_ns"]}
PROFILES = ["calls", "full", "flow"]


def taken(trace, columns=()):
    words = [BUILD / "bin" / "arrow_bench", trace, *columns]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)


def arrow(options):
    results = {}
    with scratch() as folder:
        trace, rounds = folder / "run.kymo", 2
        for profile in PROFILES:
            def record():
                progress(f"arrow {profile}: recording {rounds} rounds")
                run([KYMO, "record", "-q", "-f", "-o", trace, f"--events={profile}", sys.executable,
                     HERE / "replay_program.py", str(rounds)])
                return taken(trace)

            rounds = 2
            found = record()
            if found["rows"] < ROWS * options.scale:
                rounds = round(rounds * ROWS * options.scale / found["rows"]) + 1
                found = record()
            results[profile] = {"rows": found["rows"], "seconds": {name: [] for name in COLUMNS}}
            for pair in range(options.pairs):
                progress(f"arrow {profile}: {pair + 1} of {options.pairs}")
                for name, columns in COLUMNS.items():
                    results[profile]["seconds"][name].append(taken(trace, columns)["seconds"])
    progress("")
    table("rows a CPU second, as a ratio of 50 million", ["", "million rows", *COLUMNS], [
        [profile, f"{found['rows'] / 1e6:.0f}",
         *(shown(interval(found["rows"] / TARGET / each for each in seconds)) for seconds in found["seconds"].values())]
        for profile, found in results.items()])
    return results
