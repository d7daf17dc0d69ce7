# SPDX-License-Identifier: Apache-2.0
"""Values of variables under other projects' recorders and under `--values=locals`, of the same functions, those of micro.py.

They are short: one round of the other programs takes some of these recorders minutes.
"""
import importlib.metadata
import re
import sqlite3
import statistics
import subprocess
import sys

import measure
from measure import KYMO, interval, progress, record, result, run, runner, shown, table

PEERS = {"pyttd": "py-tt-debug", "codetracer": "codetracer-python-recorder", "hunter": "hunter"}
FUNCTIONS = ["nested", "branches", "raising", "orders"]
ROUNDS = 20_000


def installed():
    found = {}
    for tool, package in PEERS.items():
        try:
            found[tool] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            print(f"{package} is not installed: left out")
    return found


def size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def told_by_pyttd(folder):
    """The variables of a frame as JSON, or what it returns as text."""
    query = "SELECT frame_event, locals_snapshot FROM executionframes WHERE locals_snapshot > ''"
    try:
        return sum(text.count('": ') if event == "line" or event == "call" else 1
                   for event, text in sqlite3.connect(folder / "trace.db").execute(query))
    except sqlite3.DatabaseError:  # as its writers may leave it
        return 0


def told_by_codetracer(folder):
    """As its JSON has them."""
    return (folder / "trace" / "trace.json").read_bytes().count(b'{"Value":')


def told_by_hunter(folder):
    """One a line."""
    return sum(" := " in line or " => " in line for line in (folder / "trace.txt").open())


def told_by_kymo(trace):
    text = subprocess.check_output([KYMO, "stats", trace], text=True)
    return int(re.search(r"^ *values +([\d,]+)", text, re.M)[1].replace(",", ""))


TOLD = {"pyttd": told_by_pyttd, "codetracer": told_by_codetracer, "hunter": told_by_hunter}


def command(tool, program, folder):
    if tool == "plain":
        return runner("plain", program, ROUNDS)
    if tool == "kymo":
        return record(folder / "trace.kymo", "flow", runner("plain", program, ROUNDS), "--values=locals",
                      "--values-for=*/micro.py", "--no-stdlib")
    return runner(f"{tool}:{folder}", program, ROUNDS)


def compare(program, tools, pairs, scratch):
    samples = {tool: [] for tool in tools}
    for number in range(pairs):
        for tool in list(tools)[::1 if number % 2 else -1]:
            progress(f"values {program} {tool}")
            folder = scratch / tool
            subprocess.run(["rm", "-rf", folder], check=True)
            folder.mkdir()
            samples[tool].append(result(run(command(tool, program, folder))))
    row = {"program": program, "tools": {}}
    added = {tool: [sample["cpu"] - plain["cpu"] for sample, plain in zip(each, samples["plain"], strict=True)]
             for tool, each in samples.items()}
    for tool in tools:
        if tool == "plain":
            continue
        folder = scratch / tool
        kept = size(folder)
        if tool == "codetracer":  # its binary traces are not documented
            run(command("codetracer-json", program, folder))
        told = told_by_kymo(folder / "trace.kymo") if tool == "kymo" else TOLD[tool](folder)
        row["tools"][tool] = {
            "slowdown": interval(sample["cpu"] / plain["cpu"]
                                 for sample, plain in zip(samples[tool], samples["plain"], strict=True)),
            "added": interval(theirs / max(ours, 1) for theirs, ours in zip(added[tool], added["kymo"], strict=True)),
            "bytes": kept,
            "told": told,
        }
    return row


def value_peers(options, scratch):
    tools = {"plain": None, "kymo": None} | installed()
    if len(tools) == 2:
        return []
    measure.PYTHON = sys.executable  # the one that has them
    rows = [compare(f"micro.{function}", tools, options.pairs, scratch) for function in FUNCTIONS]
    progress("")
    table("values of locals: processor time, and bytes of the trace",
          ["program", "tool", "slowdown", "added, of what kymo adds", "values", "bytes", "bytes a value"],
          [[row["program"], f"{tool} {tools[tool] or ''}", shown(cost["slowdown"]), shown(cost["added"], 1), cost["told"], cost["bytes"],
            f"{cost['bytes'] / cost['told']:.1f}" if cost["told"] else "-"] for row in rows for tool, cost in row["tools"].items()])
    for tool in list(tools)[2:]:
        mean = statistics.geometric_mean(row["tools"][tool]["added"][0] for row in rows)
        print(f"{tool}: adds {mean:.1f} times what kymo adds (geometric mean)")
    return rows
