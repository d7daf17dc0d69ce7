# SPDX-License-Identifier: Apache-2.0
"""Events a second and bytes an event of each format that `kymo export` writes itself."""
import os
import subprocess
import time

from measure import KYMO, PROFILES, interval, progress, record, rounds_of, run, runner, scratch, shown, table, trace_facts

FORMATS = ("perfetto", "chrome", "speedscope", "gecko")
PROGRAMS = ("scheduler", "raytrace", "tasks", "exceptions")
TARGET = 10  # million events a second into Perfetto, on one processor


def write(name, trace, path):
    """Seconds of processors and of the clock that one export takes."""
    start = time.perf_counter()
    child = subprocess.Popen([KYMO, "export", f"--format={name}", "-f", "-o", path, trace])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, (name, trace)
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start


def export(options):
    results, rows = [], []
    with scratch() as folder:
        for program in PROGRAMS:
            trace = folder / f"{program}.kymo"
            progress(f"export: recording {program}")
            run(record(trace, "calls", runner("plain", program, rounds_of(program, PROFILES["calls"].share * options.scale))))
            events = trace_facts(trace)["events"]
            for name in FORMATS:
                progress(f"export: {program}, {name}")
                path = folder / f"{program}.{name}"
                # What it takes to store the file is not the format's.
                write(name, trace, path)
                size = path.stat().st_size
                path.unlink()
                cpu, seconds = zip(*(write(name, trace, "/dev/null") for _ in range(options.pairs)))
                results.append({"program": program, "format": name, "events": events, "bytes": size, "cpu_seconds": cpu,
                                "seconds": seconds})
                rate = interval([events / 1e6 / second for second in cpu])
                rows.append([f"{program}, {name}", f"{events / 1e6:.1f}", shown(rate, 1),
                             f"{rate[0] / TARGET:.2f}" if name == "perfetto" else "", f"{size / events:.1f}"])
    progress("")
    table("million events a second and processor", ["", "million events", "rate", "of the target", "bytes an event"],
          rows)
    return results
