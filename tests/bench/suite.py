# SPDX-License-Identifier: Apache-2.0
"""usage: suite.py [--pairs N] [--workers N] FOLDER [options of pytest…]

What the pytest plugin costs a real test suite: pytest alone, with --kymo=retain-on-failure and `flow`, and with `calls`, by turns.
Kymo is that of the interpreter that this runs on, or of KYMO_BUILD_DIR.  Prints ratios, medians with their 95 % bootstrap intervals, of
wall time and of processor time of pytest and its workers, and the bytes that were left on disk.
"""
import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = {
    "alone": ([], {}),
    "plugin, off": ([], {}),
    "calls": (["--kymo=retain-on-failure"], {"KYMO_EVENTS": "calls"}),
    "flow": (["--kymo=retain-on-failure"], {"KYMO_EVENTS": "flow"}),
}


def environment(site):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KYMO") or name == "KYMO_PROGRAM"}
    build = os.environ.get("KYMO_BUILD_DIR")
    if build:
        build = Path(build).resolve()
        about = site / "kymo-0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: kymo\nVersion: 0\n")
        (about / "entry_points.txt").write_text("[pytest11]\nkymo = kymo.pytest_plugin\n")
        kept |= {"PYTHONPATH": f"{site}:{build / 'python'}", "KYMO_PROGRAM": str(build / "bin" / "kymo")}
    return kept


def measure(way, folder, workers, options, env, traces):
    more, variables = WAYS[way]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"-n{workers}", f"--kymo-dir={traces}", *more, *options]
    if way == "alone":
        words = [word for word in words if not word.startswith("--kymo")] + ["-p", "no:kymo"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, cwd=folder, env=env | variables, capture_output=True, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, processor, done.stdout.strip().splitlines()[-1]


def interval(values):
    draws = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(2000))
    return f"{statistics.median(values):.2f} [{draws[50]:.2f}, {draws[-50]:.2f}]"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("folder")
    arguments, options = parser.parse_known_args()
    samples = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as scratch:
        env, traces = environment(Path(scratch)), Path(scratch, "traces")
        for number in range(arguments.pairs):
            for way in list(WAYS) if number % 2 else reversed(WAYS):
                shutil.rmtree(traces, ignore_errors=True)
                sample = measure(way, arguments.folder, arguments.workers, options, env, traces)
                left = sum(file.stat().st_size for file in traces.glob("*"))
                samples[way].append(sample[:2])
                print(f"{way:12} wall {sample[0]:7.2f} s  processor {sample[1]:7.2f} s  {left:9} bytes  {sample[2]}", file=sys.stderr)
    for way in list(WAYS)[1:]:
        for name, at in ("wall", 0), ("processor", 1):
            ratios = [sample[at] / alone[at] for sample, alone in zip(samples[way], samples["alone"], strict=True)]
            print(f"{way:12} {name:10} {interval(ratios)} of {statistics.median(alone[at] for alone in samples['alone']):.2f} s")


if __name__ == "__main__":
    main()
