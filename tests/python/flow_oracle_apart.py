# SPDX-License-Identifier: Apache-2.0
"""Random programs, each run twice: under a tool in Python that notes every event, and recorded with --events=flow.

A tool in the process that is recorded keeps the interpreter from taking its fast paths, and so from what differs there.  The
programs are deterministic, and go through their functions often enough to be specialised.
"""
import collections
import marshal
import subprocess
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from flow_oracle import EVENTS, KYMO, OBSERVER, environment, events_of
from generated_programs import programs
from streams import first_difference, without_offsets

ROUNDS = """
import sys
with open(sys.argv[1]) as file:
    code = compile(file.read(), sys.argv[1], "exec")
for _ in range(30):
    exec(code, {"__name__": "program"})
"""


def run(words, folder, timeout):
    done = subprocess.run(list(map(str, words)), env=environment(), cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=timeout)
    if done.returncode:
        raise RuntimeError(f"status {done.returncode}\n{done.stderr[-2000:]}")


def compare(text, folder, timeout):
    """The events that the two runs of @text have in common, by kind, and an account of the first that they do not."""
    (folder / "program.py").write_text(text)
    (folder / "rounds.py").write_text(ROUNDS)
    words = [folder / "rounds.py", folder / "program.py"]
    run([sys.executable, OBSERVER, folder / "seen", ",".join([*EVENTS, "TRACEBACKS"]), "program.py", *words], folder, timeout)
    run([KYMO, "record", "-q", "-f", "-o", folder / "trace.kymo", "--events=flow", "--include=program.py", "--max-size=4G", "--",
         *words], folder, timeout)
    seen, = marshal.loads((folder / "seen").read_bytes()).values()
    seen = without_offsets(map(tuple, seen))
    rebuilt = without_offsets(events_of(folder / "trace.kymo", None, EVENTS))
    # What the interpreter's end runs comes after the tool.
    return collections.Counter(event[0] for event in seen), first_difference(rebuilt[:len(seen)], seen)


def check(count, first_seed, folder, timeout):
    """Compare @count programs; True if none differs."""
    total, differ, broken, started = collections.Counter(), 0, 0, time.monotonic()
    compared = 0

    @seed(first_seed)
    @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(programs(has_destructors=True))
    def each(text):
        nonlocal total, differ, broken, compared
        try:
            events, difference = compare(text, folder, timeout)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            broken += 1
            print(f"not compared: {error}\n{text}", flush=True)
            return
        compared += 1
        total += events
        if difference:
            differ += 1
            kept = Path(folder).parent / f"differs-{sys.version_info.minor}-{first_seed}-{compared}.py"
            kept.write_text(text)
            print(f"{kept}: rebuilt {difference[:1500]}", flush=True)

    each()
    print(f"{'{}.{}.{}'.format(*sys.version_info)}: {compared} random programs compared, {sum(total.values())} events, "
          f"{total['LINE']} LINE; {differ} programs differ; {broken} not compared; {time.monotonic() - started:.0f} s")
    return compared and not differ and not broken
