# SPDX-License-Identifier: Apache-2.0
"""What the measurements share: processes with their costs, profiles, statistics, tables."""
import ctypes
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("KYMO_BUILD_DIR", HERE.parent.parent / "build" / "bench")).resolve()
KYMO = BUILD / "bin" / "kymo"
PYTHON = getattr(sys, "_base_executable", sys.executable)
PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.py"))

HAS_SIDES = sys.version_info >= (3, 14)
BRANCHES = ["BRANCH_LEFT", "BRANCH_RIGHT"] if HAS_SIDES else ["BRANCH"]
CALLS = ["PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND", "RAISE", "RERAISE"]
C_CALLS = ["CALL", "C_RETURN", "C_RAISE"]
REST = ["EXCEPTION_HANDLED", "STOP_ITERATION", "LINE", "INSTRUCTION", "JUMP"]


@dataclass(frozen=True)
class Profile:
    name: str  # what `kymo record --events` takes
    events: tuple
    mode: str = ""  # once: places are switched off after their first event; flow: where nothing is recorded
    share: float = 1.0  # of a program's rounds: some events come in great numbers

    def tool(self, kind):
        return ":".join(filter(None, (kind, self.mode, ",".join(self.events))))


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("calls", tuple(CALLS)),
        Profile("flow", (*CALLS, *BRANCHES, "JUMP"), mode="flow"),
        Profile("branch-bits", (*CALLS, *BRANCHES)),
        Profile("LINE", ("LINE",)),
        Profile("full", (*CALLS, *C_CALLS, *BRANCHES, *REST), share=0.2),
        Profile("coverage", ("LINE", *BRANCHES), mode="once"),
    )
}


def all_rounds(program):
    line = next(line for line in (HERE / "programs" / f"{program}.py").open() if line.startswith("ROUNDS = "))
    return int(line.split()[2])


def rounds_of(program, share):
    """How often @program repeats its work."""
    return max(1, round(all_rounds(program) * share))


def can_repeat(program):
    """False of a program whose second round has nothing left to do."""
    return all_rounds(program) > 1


@dataclass
class Cost:
    """What a process and all that it started cost."""

    seconds: float
    cpu: float  # of the program, and of whatever its parent waited for
    reader_cpu: float  # of processes that outlived their parents
    reader_rss: int  # their largest resident size, bytes
    output: str

    @property
    def total_cpu(self):
        return self.cpu + self.reader_cpu


def adopt_orphans():
    """Processes whose parents end become ours, so that their costs can be had."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(command, core=None, watch=None):
    """Run @command to its end and that of every process it left behind. @watch is called meanwhile."""
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": f"{BUILD / 'bench'}:{HERE / 'programs'}"}
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        child = subprocess.Popen(
            [str(word) for word in command], stdout=output, env=environment,
            preexec_fn=None if core is None else lambda: os.sched_setaffinity(0, {core}))
        if watch:
            watch(child)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        cost = Cost(seconds, usage.ru_utime + usage.ru_stime, 0.0, 0, "")
        while True:
            try:
                _, _, usage = os.wait4(-1, 0)
            except ChildProcessError:
                break
            cost.reader_cpu += usage.ru_utime + usage.ru_stime
            cost.reader_rss = max(cost.reader_rss, usage.ru_maxrss * 1024)
        output.seek(0)
        cost.output = output.read()
    if child.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed with {child.returncode}\n{cost.output}")
    return cost


def record(trace, events, command, *options):
    """The command line that records @command."""
    return [KYMO, "record", "-q", "-f", "-o", trace, f"--events={events}", *options, "--", *command]


def runner(tool, program, rounds):
    return [PYTHON, HERE / "runner.py", tool, program, rounds]


def result(cost):
    """What runner.py has printed."""
    return json.loads(cost.output.splitlines()[-1])


def trace_facts(trace):
    return json.loads(subprocess.check_output([KYMO, "info", "--json", trace], text=True))


class scratch:
    """A folder for traces, on disk rather than in memory where there is a choice."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="kymo-bench-", dir=BUILD))
        return self.path

    def __exit__(self, *error):
        shutil.rmtree(self.path)


def interval(values, statistic=statistics.median, repeats=2000):
    """[estimate, low, high]: the statistic and its 95 % bootstrap interval."""
    chance = random.Random(1)
    values = list(values)
    resampled = sorted(statistic(chance.choices(values, k=len(values))) for _ in range(repeats))
    return [statistic(values), resampled[int(repeats * 0.025)], resampled[int(repeats * 0.975) - 1]]


def table(title, columns, rows):
    """Print rows of text under a title."""
    rows = [list(map(str, row)) for row in rows]
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    print(f"\n{title}\n")
    for row in [columns, ["-" * width for width in widths], *rows]:
        print("  ".join(cell.ljust(widths[0]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(row)))
    sys.stdout.flush()


def shown(estimate, digits=2):
    """An estimate with its interval."""
    middle, low, high = estimate
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
