# SPDX-License-Identifier: Apache-2.0
"""Going through a long trace: what opening it, seeking and stepping take, and how much memory.

The trace is of real programs in eight threads, recorded until it has as many events as wanted; what the reader does not keep
up with is dropped, so that it has gaps.
"""
import json
import random
import subprocess
import sys
import time
from pathlib import Path

from measure import BUILD, HERE, KYMO, progress, run, scratch, table, trace_facts

EVENTS = 1_000_000_000
CALLS = "PY_START,PY_RESUME,PY_THROW,PY_RETURN,PY_YIELD,PY_UNWIND,RAISE,RERAISE"
PROFILES = {"flow": "flow", "full": f"{CALLS},LINE"}
MOVES = ["next_event", "prev_event", "step_in", "step_in_back", "step_over", "step_over_back", "step_out", "step_out_back"]
PLACES = 200


def make(trace, profile, events):
    def record(rounds):
        run([KYMO, "record", "-q", "-f", "-o", trace, "--policy=drop", "--ring-size=1M", f"--events={PROFILES[profile]}",
             sys.executable, HERE / "replay_program.py", str(rounds)])
        return trace_facts(trace)["events"]

    rounds = 11  # each thread has run each program once
    recorded = record(rounds)
    if recorded < events:
        record(round(rounds * events / recorded) + 1)


def timed(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return (time.perf_counter() - start) * 1e3


def go_through(path):
    """In a process of its own: milliseconds of each question."""
    sys.path.insert(0, str(BUILD / "python"))
    import kymo

    choose, times = random.Random(5), {}
    opened = []
    times["open"] = [timed(lambda: opened.append(kymo.open(path)))]
    trace = opened[0]
    cursor = trace.cursor()
    threads = [(i, thread["first"], thread["last"]) for i, thread in enumerate(trace.threads) if thread["last"]]

    def jump():
        thread, first, last = choose.choice(threads)
        cursor.seek(choose.randint(first, last), thread=thread)

    times["seek"] = [timed(jump) for _ in range(PLACES)]
    times["seek %"] = [timed(cursor.goto, f"{choose.uniform(0, 100)}%") for _ in range(PLACES)]
    for move in MOVES:
        times[move] = []
        for _ in range(PLACES):
            jump()
            times[move].append(timed(getattr(cursor, move)))
    times["other thread"] = []
    for _ in range(PLACES):
        jump()
        times["other thread"].append(timed(cursor.switch, choose.choice(threads)[0]))
    for move in ("next_switch", "prev_switch"):
        times[move] = []
        for _ in range(PLACES // 10):
            jump()
            times[move].append(timed(getattr(cursor, move)))
    times["stack"] = [timed(lambda: cursor.stack) for _ in range(10)]
    # The first of the landmarks, from the end of the run: nearly all events lie between them.
    cursor.goto("end")
    cursor.break_at_function("landmark", "hits == 1")
    times["resume_back, far"] = [timed(cursor.resume_back)]
    found = cursor.event.function
    cursor.goto("start")
    cursor.break_at("replay_program.py", 30)
    times["resume, far"] = [timed(cursor.resume)]
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print(json.dumps({"ms": times, "found": found,
                      "peak_mb": int(status["VmHWM"].split()[0]) / 1024}))


def replay(options):
    results = {}
    with scratch() as folder:
        for profile in PROFILES:
            trace = folder / f"{profile}.kymo"
            progress(f"replay {profile}: recording")
            make(trace, profile, EVENTS * options.scale)
            facts = trace_facts(trace)
            progress(f"replay {profile}: making the index")
            cost = run([KYMO, "index", trace])
            progress(f"replay {profile}: going through it")
            ours = json.loads(subprocess.run([sys.executable, __file__, trace], stdout=subprocess.PIPE, text=True, check=True).stdout)
            results[profile] = ours | {
                "events": facts["events"], "lost": facts["lost"], "bytes": trace.stat().st_size,
                "index_bytes": Path(f"{trace}-index").stat().st_size, "index_seconds": cost.cpu, "index": cost.output,
            }
            trace.unlink()
    progress("")
    questions = list(results["flow"]["ms"])
    table("milliseconds, longest of all asked", ["", *results],
          [[question, *(f"{max(each['ms'][question]):.1f}" for each in results.values())] for question in questions]
          + [["peak memory, MB", *(f"{each['peak_mb']:.0f}" for each in results.values())],
             ["events, million", *(f"{each['events'] / 1e6:.0f}" for each in results.values())],
             ["lost, million", *(f"{each['lost'] / 1e6:.1f}" for each in results.values())],
             ["trace, MB", *(f"{each['bytes'] / 1e6:.0f}" for each in results.values())],
             ["index, MB", *(f"{each['index_bytes'] / 1e6:.1f}" for each in results.values())],
             ["seconds to make it", *(f"{each['index_seconds']:.1f}" for each in results.values())]])
    for profile, each in results.items():
        print(f"{profile}: {each['index'].strip()}; landed in {each['found']}()")
    return results


if __name__ == "__main__":
    go_through(sys.argv[1])
