# SPDX-License-Identifier: Apache-2.0
"""The same programs under other projects' tools and under Kymo, interleaved."""
import importlib
import importlib.metadata
import statistics
import subprocess
import sys

import measure
from measure import (PROFILES, adopt_orphans, can_repeat, interval, progress, record, result, rounds_of, run, runner, scratch, shown,
                     table)

PACKAGES = ["viztracer", "coverage"]
PEERS = ["settrace", "cprofile", "viztracer", "viztracer-python", "coverage-c", "coverage-sysmon"]
NOTHING = ["LINE", "flow"]
OURS = ["calls", "flow"]


def installed(packages):
    """Put them into the virtual environment that this runs in; returns their versions, None where one cannot be had."""
    found = {}
    for package in packages:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", package])
            importlib.invalidate_caches()
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found


mean = statistics.geometric_mean


def peers(options):
    adopt_orphans()
    found = installed(PACKAGES)
    measure.PYTHON = sys.executable
    tools = [tool for tool in PEERS if found.get(tool.split("-")[0], True)]
    rows = []
    with scratch() as folder:
        for program in options.programs:
            rounds = rounds_of(program, 0.5 * options.scale)
            commands = {tool: runner(tool, program, rounds) for tool in ["plain", *tools]}
            # What `flow` leaves out is found by running the program once before: not where it can run but once.
            commands |= {f"nothing {profile}": runner(PROFILES[profile].tool("nothing"), program, rounds)
                         for profile in NOTHING if can_repeat(program) or PROFILES[profile].mode != "flow"}
            commands |= {f"kymo {profile}": record(folder / "trace.kymo", profile, runner("plain", program, rounds))
                         for profile in OURS}
            samples = {name: [] for name in commands}
            for number in range(-1, options.pairs):
                for name in list(commands)[::1 if number % 2 else -1]:
                    progress(f"peers {program} {name}")
                    sample = result(run(commands[name]))
                    if number >= 0:
                        samples[name].append(sample)
            rows.append({
                "program": program,
                "slowdown": {name: interval(sample["cpu"] / plain["cpu"]
                                            for sample, plain in zip(each, samples["plain"]))
                             for name, each in samples.items() if name != "plain"},
                "samples": samples,
            })
    progress("")
    names = list(max((row["slowdown"] for row in rows), key=len))
    whole = [row["slowdown"] for row in rows if len(row["slowdown"]) == len(names)]
    table("slowdown in processor time under other tools, tools that do nothing, and Kymo", ["program", *names],
          [*([row["program"], *(shown(row["slowdown"][name]) if name in row["slowdown"] else "-" for name in names)]
             for row in rows),
           [f"geometric mean of {len(whole)}", *(f"{mean(row[name][0] for row in whole):.2f}" for name in names)]])
    return {"versions": found, "programs": rows}
