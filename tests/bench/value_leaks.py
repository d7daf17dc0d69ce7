# SPDX-License-Identifier: Apache-2.0
"""`./dev bench --parts value-leaks`: a program of 10⁷ events with values, whose size and whose reader's must not grow.

Where CPython is a debug build, references as well (sys.gettotalrefcount()), beside what the program alone has more at its end.
"""
import sys

from measure import KYMO, PYTHON, adopt_orphans, progress, run, scratch, table, trace_facts

EVENTS = 10_000_000
PROGRAM = """
import array, collections, datetime, decimal, enum, fractions, gc, pathlib, sys, uuid

class Slots:
    __slots__ = "x", "rest"

class Color(enum.Enum):
    RED = 1

Pair = collections.namedtuple("Pair", "one other")

def look(values, named): pass

def kinds(number):
    slots = Slots()
    slots.x, slots.rest = number, bytearray(9)
    texts = str(number), "\xe9" * 9, str(number).encode(), memoryview(b"abc"), "x" * 999, 1 << 90, number / 7, complex(number, 1)
    many = Pair({number, "a"}, frozenset(texts[:2])), collections.deque(texts), collections.Counter("abca"), range(number), slice(number)
    times = datetime.datetime.fromtimestamp(number, datetime.UTC), datetime.timedelta(number)
    library = decimal.Decimal(number) / 7, fractions.Fraction(number, 7), pathlib.PurePath("a", str(number)), uuid.UUID(int=number)
    rest = Color.RED, array.array("d", [1, 2]), ValueError(number), Slots, look, print, gc
    for value in texts, many, times, library, rest, (slots, iter(texts), lambda: number):
        look(value, named=value)

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
        if number % 50 == 0: kinds(number)
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


def parts_of(output):
    return [tuple(map(int, line.split())) for line in output.splitlines()]


def references_of(parts):
    return parts[-1][1] - parts[0][1]


def leaks_of(folder, scope, rounds):
    program = folder / "program.py"
    program.write_text(PROGRAM)
    trace = folder / "trace.kymo"
    cost = run([KYMO, "record", "-q", "-f", "-o", trace, "--events=flow", f"--values={scope}", "--values-for=*", "--no-stdlib", "--clock=none", "--",
                PYTHON, program, rounds])
    return parts_of(cost.output), cost.reader_rss, trace_facts(trace)


def value_leaks(options):
    adopt_orphans()
    rows = []
    with scratch() as folder:
        for scope in "args", "locals", "globals":
            progress(f"value leaks {scope}")
            sample = leaks_of(folder, scope, 2000)[2]["events"]
            rounds = max(10, int(EVENTS * options.scale * 2000 / sample))
            _, short, _ = leaks_of(folder, scope, max(10, rounds // 10))
            parts, long, facts = leaks_of(folder, scope, rounds)
            alone = parts_of(run([PYTHON, folder / "program.py", rounds]).output)
            rows.append({"scope": scope, "events": facts["events"], "lost": facts["lost"], "parts": parts, "alone": alone,
                         "reader": [short, long]})
    progress("")
    table("size after each tenth of a long recording with values",
          ["scope", "events", "lost", "program after the first, the last (MB)", "references: alone, recorded", "objects of gc",
           "reader of a tenth, of the whole (MB)"],
          [[row["scope"], row["events"], row["lost"], " → ".join(f"{row['parts'][i][0] / 1e6:.1f}" for i in (0, -1)),
            f"{references_of(row['alone'])}, {references_of(row['parts'])}" if hasattr(sys, "gettotalrefcount") else "-",
            row["parts"][-1][2] - row["parts"][0][2], " → ".join(f"{size / 1e6:.1f}" for size in row["reader"])] for row in rows])
    return rows
