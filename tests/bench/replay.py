# SPDX-License-Identifier: Apache-2.0
"""Going through a long trace: what opening it, seeking and stepping take, and how much memory.

The trace is of real programs in eight threads, recorded until it has as many events as wanted; what the reader does not keep
up with is dropped, so that it has gaps.
"""
import errno
import json
import random
import subprocess
import sys
import time
from pathlib import Path

from measure import BUILD, HERE, KYMO, progress, run, scratch, table

sys.path.insert(0, str(BUILD / "python"))

EVENTS = 1_000_000_000
CALLS = "PY_START,PY_RESUME,PY_THROW,PY_RETURN,PY_YIELD,PY_UNWIND,RAISE,RERAISE"
PROFILES = {"flow": "flow", "full": f"{CALLS},LINE"}
MOVES = ["next_event", "prev_event", "step_in", "step_in_back", "step_over", "step_over_back", "step_out", "step_out_back"]
PLACES = 200


def facts(trace):
    """Of a trace that has its index; `kymo info` would decode every event."""
    import kymo

    with kymo.open(trace) as opened:
        threads = [thread for thread in opened.threads if thread["last"]]
        return {"events": sum(thread["last"] - thread["first"] + 1 for thread in threads),
                **{key: sum(thread[key] for thread in threads) for key in ("lines", "chunks", "incomplete_chunks")}}


def make(trace, profile, events):
    """Record until there are so many events; returns what they are, and what making the index took."""
    def record(rounds):
        Path(f"{trace}-index").unlink(missing_ok=True)
        run([KYMO, "record", "-q", "-f", "-o", trace, "--policy=drop", "--ring-size=1M", f"--events={PROFILES[profile]}",
             sys.executable, HERE / "replay_program.py", str(rounds)])
        cost = run([KYMO, "index", trace])
        return facts(trace), cost

    rounds = 11  # each thread has run each program once
    found, cost = record(rounds)
    if found["events"] < events:
        found, cost = record(round(rounds * events / found["events"]) + 1)
    return found | {"index_seconds": cost.cpu}


def timed(function, *arguments):
    """Milliseconds of this thread, which is all that works, on a processor, and on the wall."""
    start, wall = time.thread_time(), time.perf_counter()
    function(*arguments)
    return (time.thread_time() - start) * 1e3, (time.perf_counter() - wall) * 1e3


def go_through(path):
    """In a process of its own: milliseconds of each question."""
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
        while len(times[move]) < PLACES // 10:
            jump()
            try:
                times[move].append(timed(getattr(cursor, move)))
            except kymo.Error as error:  # where events are missing, so is whose turn it is
                if error.errno != errno.ENOTSUP:
                    raise
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
            progress(f"replay {profile}: recording, and making the index")
            found = make(trace, profile, EVENTS * options.scale)
            progress(f"replay {profile}: going through it")
            ours = json.loads(subprocess.run([sys.executable, __file__, trace], stdout=subprocess.PIPE, text=True,
                                             check=True).stdout)
            results[profile] = ours | found | {"bytes": trace.stat().st_size,
                                               "index_bytes": Path(f"{trace}-index").stat().st_size}
            trace.unlink()
    progress("")
    questions = list(results["flow"]["ms"])
    table("milliseconds, longest of all asked", ["", *(f"{name}, {clock}" for name in results for clock in ("CPU", "wall"))],
          [[question, *(f"{max(times):.1f}" for each in results.values() for times in zip(*each["ms"][question]))]
           for question in questions])
    table("", ["", *results], [["peak memory, MB", *(f"{each['peak_mb']:.0f}" for each in results.values())],
             ["events, million", *(f"{each['events'] / 1e6:.0f}" for each in results.values())],
             ["lines, million", *(f"{each['lines'] / 1e6:.0f}" for each in results.values())],
             ["chunks", *(each["chunks"] for each in results.values())],
             ["of these with gaps", *(each["incomplete_chunks"] for each in results.values())],
             ["trace, MB", *(f"{each['bytes'] / 1e6:.0f}" for each in results.values())],
             ["index, MB", *(f"{each['index_bytes'] / 1e6:.1f}" for each in results.values())],
             ["million lines a second, making it", *(f"{each['lines'] / each['index_seconds'] / 1e6:.0f}"
                                                     for each in results.values())]])
    assert all(each["found"] == "landmark" for each in results.values())
    return results


if __name__ == "__main__":
    go_through(sys.argv[1])
