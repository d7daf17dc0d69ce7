# SPDX-License-Identifier: Apache-2.0
"""Bytes an event on disk, and the reader's memory over a long run."""
import os
import statistics
import time
from pathlib import Path

from measure import (PROFILES, adopt_orphans, progress, record, rounds_of, run, runner, scratch, table, trace_facts)

LONG_EVENTS = 100_000_000


def sizes(options, folder):
    rows = []
    trace = folder / "trace.kymo"
    for profile in options.profiles:
        for program in options.programs:
            progress(f"size {profile} {program}")
            rounds = rounds_of(program, PROFILES[profile].share * options.scale)
            run(record(trace, profile, runner("plain", program, rounds)))
            facts = trace_facts(trace)
            events, lost = facts["events"], facts["lost"]
            rows.append({"profile": profile, "program": program, "events": events, "lost": lost,
                         "bytes": trace.stat().st_size, "bytes_an_event": trace.stat().st_size / max(events, 1)})
    progress("")
    table("bytes an event on disk, everything included", ["program", *options.profiles],
          [[program, *(f"{row['bytes_an_event']:.2f}" for row in rows if row["program"] == program)]
           for program in options.programs]
          + [["median", *(f"{statistics.median(row['bytes_an_event'] for row in rows if row['profile'] == profile):.2f}"
                          for profile in options.profiles)]])
    return rows


def resident(pid):
    """Resident bytes of @pid, of which anonymous: (all, anonymous)."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return [int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon")]


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def memory(options, folder):
    """The reader's resident memory, sampled while a loop of many events runs."""
    samples = []
    start = time.monotonic()

    def watch(kymo):
        while is_running(kymo.pid):
            for pid in children(os.getpid()):
                if pid != kymo.pid:
                    try:
                        samples.append([time.monotonic() - start, *resident(pid)])
                    except (OSError, KeyError, ValueError):
                        pass  # it has just ended
            time.sleep(0.05)

    trace = folder / "trace.kymo"
    progress("memory of the reader")
    run(record(trace, "calls", runner("plain", "micro.nested", int(LONG_EVENTS * options.scale) // 4)), watch=watch)
    progress("")
    facts = trace_facts(trace)
    half = samples[len(samples) // 2:]
    row = {
        "events": facts["events"],
        "lost": facts["lost"],
        "samples": samples,
        "largest": max(rss for _, rss, _ in samples),
        "largest_anonymous": max(anonymous for *_, anonymous in samples),
        "growth_in_second_half": half[-1][1] - half[0][1],
    }
    table("the reader's memory over a long run",
          ["events", "lost", "samples", "largest resident, MB", "of it anonymous, MB", "growth in the second half, kB"],
          [[row["events"], row["lost"], len(samples), f"{row['largest'] / 1e6:.1f}",
            f"{row['largest_anonymous'] / 1e6:.1f}", row["growth_in_second_half"] // 1000]])
    return row


def is_running(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def size(options):
    adopt_orphans()
    with scratch() as folder:
        return {"disk": sizes(options, folder), "memory": memory(options, folder)}
