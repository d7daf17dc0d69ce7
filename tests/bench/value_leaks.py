# SPDX-License-Identifier: Apache-2.0
"""`./dev bench --parts value-leaks`: a program of 10⁷ events with values, whose size and whose reader's must not grow.

Where CPython is a debug build, sys.gettotalrefcount() of the program as well.
"""
import sys

from measure import KYMO, PYTHON, adopt_orphans, progress, run, scratch, table, trace_facts

EVENTS = 10_000_000
PROGRAM = """
import gc, sys

class Point:
    def __init__(self, x): self.x, self.text, self.near = x, "p" + str(x % 100), [x, (x,), {x: None}]

def move(point, by, *rest, **named):
    if by == 3: raise KeyError(point)
    return point.x + by

def steps(point):
    for by in range(3): yield move(point, by, by, name=point.text)

def work(rounds):
    for number in range(rounds):
        point = Point(number)
        sum(steps(point))
        try: move(point, 3)
        except KeyError: pass

def resident():
    with open("/proc/self/statm") as file: return int(file.read().split()[1]) * 4096

total = getattr(sys, "gettotalrefcount", lambda: 0)
rounds, parts = int(sys.argv[1]), 10
work(rounds // parts)
for part in range(parts):
    gc.collect()
    sizes = resident(), total(), len(gc.get_objects())
    print(*sizes)
    if part + 1 < parts: work(rounds // parts)
"""


def leaks_of(folder, scope, rounds):
    program = folder / "program.py"
    program.write_text(PROGRAM)
    trace = folder / "trace.kymo"
    cost = run([KYMO, "record", "-q", "-f", "-o", trace, "--events=flow", f"--values={scope}", "--clock=none", "--",
                PYTHON, program, rounds])
    parts = [tuple(map(int, line.split())) for line in cost.output.splitlines()]
    return parts, cost.reader_rss, trace_facts(trace)


def value_leaks(options):
    adopt_orphans()
    rows = []
    with scratch() as folder:
        for scope in "args", "locals":
            progress(f"value leaks {scope}")
            sample = leaks_of(folder, scope, 2000)[2]["events"]
            rounds = max(10, int(EVENTS * options.scale * 2000 / sample))
            _, short, _ = leaks_of(folder, scope, max(10, rounds // 10))
            parts, long, facts = leaks_of(folder, scope, rounds)
            rows.append({"scope": scope, "events": facts["events"], "lost": facts["lost"], "parts": parts, "reader": [short, long]})
    progress("")
    table("size after each tenth of a long recording with values",
          ["scope", "events", "lost", "program after the first, the last (MB)", "references", "objects of gc",
           "reader of a tenth, of the whole (MB)"],
          [[row["scope"], row["events"], row["lost"], " → ".join(f"{row['parts'][i][0] / 1e6:.1f}" for i in (0, -1)),
            row["parts"][-1][1] - row["parts"][0][1] if hasattr(sys, "gettotalrefcount") else "-",
            row["parts"][-1][2] - row["parts"][0][2], " → ".join(f"{size / 1e6:.1f}" for size in row["reader"])] for row in rows])
    return rows
