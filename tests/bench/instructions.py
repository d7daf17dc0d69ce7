# SPDX-License-Identifier: Apache-2.0
"""Instructions, counted by callgrind: what noise does not touch.

Every figure is a difference of two runs of different length, so that what happens once falls out. The clock is read
at chunks only, unless said otherwise: ticks come by the millisecond, which holds far fewer events here.
"""
from statistics import geometric_mean

from measure import (BRANCHES, BUILD, PROFILES, Profile, adopt_orphans, progress, record, result, rounds_of, run,
                     runner, scratch, table)

ROUNDS = 20_000
APPENDS = ["line", "instruction", "branch", "return", "start", "jump", "mixed"]
MICRO = [
    ("calls", "PY_START"), ("calls", "PY_RETURN"), ("calls", "calls"), ("nested", "calls"), ("generator", "PY_YIELD"),
    ("generator", "PY_RESUME"), ("generator", "calls"), ("lines", "LINE"), ("lines", "INSTRUCTION"), ("lines", "JUMP"),
    ("branches", ",".join(BRANCHES)), ("branches", "branch-bits"), ("c_calls", "CALL"),
    ("c_calls", "CALL,C_RETURN,C_RAISE"), ("raising", "RAISE"), ("raising", "PY_UNWIND"),
    ("raising", "EXCEPTION_HANDLED"), ("branches", "full"), ("calls", "flow"), ("generator", "flow"),
    ("branches", "flow"), ("raising", "flow"),
]
PROGRAM_PROFILES = ["calls", "flow", "branch-bits", "LINE", "coverage"]


def callgrind(folder, command, *options):
    """Put callgrind before @command: the command line, and the file it counts in."""
    out = folder / "callgrind.out"
    return ["valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={out}", *options, *command], out


def counted(out):
    return next(int(line.split()[1]) for line in out.open() if line.startswith("totals:"))


def instructions_of(folder, tool, name, rounds, recorded=None, clock="none"):
    """Instructions of a program alone, under @tool, or recorded with the events @recorded."""
    command, out = callgrind(folder, [*runner(tool, name, rounds), "instrument"], "--instr-atstart=no")
    run(record(folder / "trace.kymo", recorded, command, f"--clock={clock}") if recorded else command)
    return counted(out)


def events_of(profile, name, rounds):
    return sum(result(run(runner(profile.tool("count"), name, rounds)))["events"].values())


def appends(folder):
    rows = []
    for kind in APPENDS:
        progress(f"instructions append {kind}")
        counts = []
        for events in 1 << 20, 2 << 20:
            command, out = callgrind(folder, [BUILD / "bin" / "append_bench", kind, events, "overwrite"])
            run(command)
            counts.append(counted(out))
        rows.append({"record": kind, "instructions": (counts[1] - counts[0]) / (1 << 20)})
    progress("")
    table("instructions of one append", ["record", "instructions"],
          [[row["record"], f"{row['instructions']:.1f}"] for row in rows])
    return rows


def callbacks(folder):
    rows = []
    for function, wanted, clock in [(*each, "none") for each in MICRO] + [("calls", "calls", "sampled")]:
        progress(f"instructions {function} {wanted} {clock}")
        profile = PROFILES.get(wanted) or Profile(wanted, tuple(wanted.split(",")))
        name = f"micro.{function}"
        steps = []
        for rounds in ROUNDS, 2 * ROUNDS:
            nothing = instructions_of(folder, profile.tool("nothing"), name, rounds)
            recorded = instructions_of(folder, "plain", name, rounds, wanted, clock)
            steps.append((events_of(profile, name, rounds), recorded - nothing))
        events = steps[1][0] - steps[0][0]
        rows.append({"loop": function, "events": wanted, "clock": clock, "events_a_round": events / ROUNDS,
                     "over_nothing": (steps[1][1] - steps[0][1]) / events})
    progress("")
    table("instructions of one callback, over nothing",
          ["loop", "events a round", "recorded − nothing, an event", "clock", "events"],
          [[row["loop"], f"{row['events_a_round']:.1f}", f"{row['over_nothing']:.1f}", row["clock"], row["events"]]
           for row in rows])
    return rows


def program(folder, name, profiles, scale):
    """Instructions of a program's main() plain, under nothing and recorded, as for its full number of rounds."""
    full = rounds_of(name, scale)

    def lines(count):
        """(first round, each further one)"""
        first = count(1)
        return first, count(2) - first if full > 1 else 0

    def total(line):
        return line[0] + line[1] * (full - 1)

    plain = total(lines(lambda rounds: instructions_of(folder, "plain", name, rounds)))
    row = {"program": name, "plain": plain, "profiles": {}}
    for each in profiles:
        progress(f"instructions {name} {each}")
        profile = PROFILES[each]
        events = total(lines(lambda rounds: events_of(profile, name, rounds)))
        nothing = total(lines(lambda rounds: instructions_of(folder, profile.tool("nothing"), name, rounds)))
        recorded = total(lines(lambda rounds: instructions_of(folder, "plain", name, rounds, each)))
        row["profiles"][each] = {
            "events": events,
            "nothing": nothing / plain,
            "recorded": recorded / plain,
            "nothing_an_event": (nothing - plain) / max(events, 1),
            "over_nothing_an_event": (recorded - nothing) / max(events, 1),
        }
    return row


def programs(options, folder):
    profiles = [profile for profile in options.profiles if profile in PROGRAM_PROFILES]
    rows = [program(folder, name, profiles, options.scale) for name in options.programs]
    progress("")
    for profile in profiles:
        each = [(row["program"], row["profiles"][profile]) for row in rows]
        table(f"{profile}: instructions", ["program", "nothing / plain", "recorded / plain",
                                          "an event, nothing − plain", "an event, recorded − nothing"],
              [[name, f"{cost['nothing']:.3f}", f"{cost['recorded']:.3f}", f"{cost['nothing_an_event']:.1f}",
                f"{cost['over_nothing_an_event']:.1f}"] for name, cost in each] +
              [["geometric mean", *(f"{geometric_mean(cost[key] for _, cost in each):.3f}"
                                    for key in ("nothing", "recorded")), "", ""]])
    return rows


def instructions(options):
    adopt_orphans()
    with scratch() as folder:
        return {"appends": appends(folder), "callbacks": callbacks(folder), "programs": programs(options, folder)}
