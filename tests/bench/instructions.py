# SPDX-License-Identifier: Apache-2.0
"""Instructions, counted by callgrind: what noise does not touch.

Every figure is a difference of two runs of different length, so that start-up falls out.
"""
from measure import (BRANCHES, BUILD, PROFILES, Profile, adopt_orphans, progress, record, result, rounds_of, run,
                     runner, scratch, table)

ROUNDS = 20_000
APPENDS = ["line", "instruction", "branch", "return", "start", "jump", "mixed"]
MICRO = [
    ("calls", "PY_START"), ("calls", "PY_RETURN"), ("calls", "calls"), ("nested", "calls"), ("generator", "PY_YIELD"),
    ("generator", "PY_RESUME"), ("generator", "calls"), ("lines", "LINE"), ("lines", "INSTRUCTION"), ("lines", "JUMP"),
    ("branches", ",".join(BRANCHES)), ("branches", "branch-bits"), ("c_calls", "CALL"),
    ("c_calls", "CALL,C_RETURN,C_RAISE"), ("raising", "RAISE"), ("raising", "PY_UNWIND"),
    ("raising", "EXCEPTION_HANDLED"), ("branches", "full"),
]
PROGRAM_PROFILES = ["calls", "branch-bits", "LINE", "coverage"]


def callgrind(command, folder):
    """Instructions that @command executes; @command may be a prefix and the command."""
    out = folder / "callgrind.out"
    prefix, command = command if isinstance(command, tuple) else ([], command)
    run([*prefix, "valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={out}", *command])
    return next(int(line.split()[1]) for line in out.open() if line.startswith(("totals:", "summary:")))


def recorded(events, command, folder):
    return record(folder / "trace.kymo", events, []), command


def profile_of(events):
    return PROFILES.get(events) or Profile(events, tuple(events.split(",")))


def appends(folder):
    rows = []
    for kind in APPENDS:
        progress(f"instructions append {kind}")
        once, twice = (callgrind([BUILD / "bin" / "append_bench", kind, count, "overwrite"], folder)
                       for count in (1 << 20, 2 << 20))
        rows.append({"record": kind, "instructions": (twice - once) / (1 << 20)})
    progress("")
    table("instructions of one append", ["record", "instructions"],
          [[row["record"], f"{row['instructions']:.1f}"] for row in rows])
    return rows


def callbacks(folder):
    rows = []
    for function, events in MICRO:
        progress(f"instructions {function} {events}")
        profile = profile_of(events)
        counts, costs = [], {"nothing": [], "recorded": []}
        for rounds in ROUNDS, 2 * ROUNDS:
            name = f"micro.{function}"
            seen = result(run(runner(profile.tool("count"), name, rounds)))["events"]
            counts.append(sum(seen.values()))
            costs["nothing"].append(callgrind(runner(profile.tool("nothing"), name, rounds), folder))
            costs["recorded"].append(callgrind(recorded(events, runner("plain", name, rounds), folder), folder))
        steps = {name: (twice - once) / (counts[1] - counts[0]) for name, (once, twice) in costs.items()}
        rows.append({
            "loop": function,
            "events": events,
            "events_a_round": (counts[1] - counts[0]) / ROUNDS,
            "over_nothing": steps["recorded"] - steps["nothing"],
        })
    progress("")
    table("instructions of one callback, over nothing",
          ["loop", "events a round", "recorded − nothing, an event", "events"],
          [[row["loop"], f"{row['events_a_round']:.1f}", f"{row['over_nothing']:.1f}", row["events"]] for row in rows])
    return rows


def program(name, folder, profiles):
    """Instructions of a program plain, under nothing and recorded, at its full number of rounds."""
    full = rounds_of(name, 1)
    # Imports happen once: there, the shorter run is one that does nothing.
    points = [("micro.idle", 0), (name, 1)] if full == 1 else [(name, 1), (name, 2)]

    def at_full(make):
        shorter, longer = (callgrind(make(*point), folder) for point in points)
        return longer if full == 1 else shorter + (longer - shorter) * (full - 1), longer - shorter

    plain, plain_step = at_full(lambda *point: runner("plain", *point))
    row = {"program": name, "plain": plain, "profiles": {}}
    for each in profiles:
        progress(f"instructions {name} {each}")
        profile = PROFILES[each]
        counts = [sum(result(run(runner(profile.tool("count"), *point)))["events"].values()) for point in points]
        nothing, nothing_step = at_full(lambda *point: runner(profile.tool("nothing"), *point))
        total, step = at_full(lambda *point: recorded(each, runner("plain", *point), folder))
        row["profiles"][each] = {
            "over_nothing": (step - nothing_step) / max(counts[1] - counts[0], 1),
            "nothing": (nothing_step - plain_step) / max(counts[1] - counts[0], 1),
            "ratio": total / plain,
            "nothing_ratio": nothing / plain,
        }
    return row


def programs(options, folder):
    profiles = [profile for profile in options.profiles if profile in PROGRAM_PROFILES]
    rows = [program(name, folder, profiles) for name in options.programs]
    progress("")
    for profile in profiles:
        each = [(row["program"], row["profiles"][profile]) for row in rows]
        table(f"{profile}: instructions", ["program", "nothing / plain", "recorded / plain",
                                          "an event, nothing − plain", "an event, recorded − nothing"],
              [[name, f"{cost['nothing_ratio']:.3f}", f"{cost['ratio']:.3f}", f"{cost['nothing']:.1f}",
                f"{cost['over_nothing']:.1f}"] for name, cost in each])
    return rows


def instructions(options):
    adopt_orphans()
    with scratch() as folder:
        return {"appends": appends(folder), "callbacks": callbacks(folder), "programs": programs(options, folder)}
