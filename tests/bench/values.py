# SPDX-License-Identifier: Apache-2.0
"""What values of variables cost: `flow` with each scope of --values against `flow` alone, as times of what `flow` adds to the program.

Instructions of the program's own process, by callgrind, and processor time of it in interleaved runs.
"""
import statistics

from compare import measure_pairs
from instructions import callgrind, counted
from measure import (adopt_orphans, interval, progress, record, rounds_of, run, runner, scratch, shown, table,
                     trace_facts)
from value_peers import value_peers

WAYS = {"plain": None, "flow": [], "args": ["--values=args", "--values-for=*"], "locals": ["--values=locals", "--values-for=*"]}
SHARE = 0.1  # of a program's rounds: values are many


def command(way, trace, words):
    return words if WAYS[way] is None else record(trace, "flow", words, *WAYS[way])


def instructions_of(folder, program, way):
    """Of one round."""
    words, out = callgrind(folder, [*runner("plain", program, 1), "instrument"], "--instr-atstart=no")
    run(command(way, folder / "trace.kymo", words))
    return counted(out)


def measure(program, options, folder):
    rounds = rounds_of(program, SHARE * options.scale)
    traces = {way: folder / f"{way}.kymo" for way in WAYS}
    progress(f"values {program}")
    samples = measure_pairs({way: command(way, traces[way], runner("plain", program, rounds)) for way in WAYS}, options.pairs)
    cpu = {way: [sample["cpu"] for sample, _ in each] for way, each in samples.items()}
    counts = {way: instructions_of(folder, program, way) for way in WAYS}
    row = {"program": program, "rounds": rounds, "instructions": counts, "cpu_ns": cpu}
    for way in "args", "locals":
        row[way] = {
            "bytes": traces[way].stat().st_size / traces["flow"].stat().st_size,
            "lost": trace_facts(traces[way])["lost"],
            "instructions": (counts[way] - counts["plain"]) / (counts["flow"] - counts["plain"]),
            "cpu": interval([(values - plain) / max(flow - plain, 1)
                             for plain, flow, values in zip(cpu["plain"], cpu["flow"], cpu[way], strict=True)]),
        }
    return row


def values(options):
    adopt_orphans()
    with scratch() as folder:
        rows = [measure(program, options, folder) for program in options.programs]
        peers = value_peers(options, folder)
    progress("")
    for way in "args", "locals":
        table(f"--values={way}: added, as a multiple of what flow adds", ["program", "instructions", "processor time", "bytes", "lost"],
              [[row["program"], f"{row[way]['instructions']:.2f}", shown(row[way]["cpu"]), f"{row[way]['bytes']:.2f}", row[way]["lost"]]
               for row in rows] +
              [["geometric mean", *(f"{statistics.geometric_mean(max(pick(row[way]), 0.01) for row in rows):.2f}"
                            for pick in (lambda cost: cost["instructions"], lambda cost: cost["cpu"][0],
                                         lambda cost: cost["bytes"])), ""]])
    return {"programs": rows, "peers": peers}
