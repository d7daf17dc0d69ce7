# SPDX-License-Identifier: Apache-2.0
"""Programs run plain, with callbacks that do nothing, and recorded: interleaved, in one run, for each profile."""
import math
import statistics

from measure import (PROFILES, adopt_orphans, interval, progress, record, result, rounds_of, run, runner, scratch,
                     shown, table, trace_facts, PYTHON)


def count_events(program, profile, rounds):
    """Events of the program's main() alone, by name."""
    return result(run(runner(profile.tool("count"), program, rounds)))["events"]


def variants(program, profile, rounds, trace):
    return {
        "plain": runner("plain", program, rounds),
        "nothing": runner(profile.tool("nothing"), program, rounds),
        "recorded": record(trace, profile.name, runner("plain", program, rounds)),
    }


def measure_pairs(commands, pairs, core=None):
    """{variant: [(result, cost), …]}, each variant once a round, in turning order; the first round is for warmth."""
    samples = {name: [] for name in commands}
    for number in range(-1, pairs):
        for name in list(commands)[::1 if number % 2 else -1]:
            cost = run(commands[name], core)
            if number >= 0:
                samples[name].append((result(cost), cost))
    checksums = {sample["checksum"] for each in samples.values() for sample, _ in each}
    if len(checksums) != 1:
        raise SystemExit(f"{commands['plain']}: results differ: {checksums}")
    return samples


def compare(program, profile, options, folder):
    rounds = rounds_of(program, profile.share * options.scale)
    trace = folder / "trace.kymo"
    events = count_events(program, profile, rounds)
    total = sum(events.values())
    samples = measure_pairs(variants(program, profile, rounds, trace), options.pairs)
    facts = trace_facts(trace)

    def estimate(value, clock):
        each = zip(*([sample[clock] for sample, _ in samples[name]] for name in ("plain", "nothing", "recorded")))
        return interval([value(*times) for times in each])

    row = {
        "program": program,
        "profile": profile.name,
        "rounds": rounds,
        "events": events,
        "trace_events": facts["events"],
        "trace_lost": facts["lost"],
        "trace_bytes": trace.stat().st_size,
        "samples": {name: [sample for sample, _ in each] for name, each in samples.items()},
        "reader_cpu_share": statistics.median(
            cost.reader_cpu / cost.total_cpu for _, cost in samples["recorded"]),
    }
    for clock in "wall", "cpu":
        row[clock] = {
            "plain_ms": estimate(lambda p, n, r: p / 1e6, clock),
            "nothing": estimate(lambda p, n, r: n / p, clock),
            "recorded": estimate(lambda p, n, r: r / p, clock),
            "over_nothing_ns": estimate(lambda p, n, r: (r - n) / max(total, 1), clock),
            "nothing_ns": estimate(lambda p, n, r: (n - p) / max(total, 1), clock),
        }
    return row


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def show(rows, profile, clock):
    def line(row):
        times = row[clock]
        is_told = times["recorded"][0] >= 1.2
        return [row["program"], f"{sum(row['events'].values()) / 1e6:.2f}",
                shown(times["nothing"]) if is_told else "", shown(times["recorded"]) if is_told else "",
                shown(times["nothing_ns"], 1), shown(times["over_nothing_ns"], 1),
                f"{row['trace_bytes'] / max(row['trace_events'], 1):.2f}"]

    rows = [row for row in rows if row["profile"] == profile]
    table(f"{profile}, {clock} time", ["program", "million events", "nothing", "recorded", "ns an event, nothing",
                                       "ns an event, recorded − nothing", "bytes an event"], map(line, rows))
    means = [geometric_mean(row[clock][which][0] for row in rows) for which in ("nothing", "recorded")]
    print(f"geometric mean: nothing {means[0]:.2f}, recorded {means[1]:.2f}")


def compare_all(options):
    adopt_orphans()
    rows = []
    with scratch() as folder:
        for profile in options.profiles:
            for program in options.programs:
                progress(f"compare {profile} {program}")
                rows.append(compare(program, PROFILES[profile], options, folder))
            progress("")
            for clock in "wall", "cpu":
                show(rows, profile, clock)
    return rows


def one_core(options):
    """Processor time of program, recorder and reader together on one core, over the do-nothing run on it."""
    adopt_orphans()
    rows = []
    with scratch() as folder:
        for profile in options.profiles:
            for program in options.programs:
                progress(f"one core {profile} {program}")
                rounds = rounds_of(program, PROFILES[profile].share * options.scale)
                commands = variants(program, PROFILES[profile], rounds, folder / "trace.kymo")
                samples = measure_pairs(commands, options.pairs, core=0)
                costs = {name: [cost for _, cost in each] for name, each in samples.items()}
                facts = trace_facts(folder / "trace.kymo")
                rows.append({
                    "program": program,
                    "profile": profile,
                    "lost": facts["lost"],
                    "cpu": {name: [cost.total_cpu for cost in each] for name, each in costs.items()},
                    "wall": {name: [cost.seconds for cost in each] for name, each in costs.items()},
                    "cpu_over_nothing": interval(
                        r.total_cpu / n.total_cpu for n, r in zip(costs["nothing"], costs["recorded"])),
                    "wall_over_nothing": interval(
                        r.seconds / n.seconds for n, r in zip(costs["nothing"], costs["recorded"])),
                })
            progress("")
            table(f"{profile}, program and reader on one core, over nothing on it",
                  ["program", "CPU time", "wall time", "lost"],
                  [[row["program"], shown(row["cpu_over_nothing"]), shown(row["wall_over_nothing"]), row["lost"]]
                   for row in rows if row["profile"] == profile])
    return rows


def start_up(options):
    """What `kymo record -c pass` takes longer than `python -c pass`."""
    adopt_orphans()
    times = {"plain": [], "recorded": []}
    with scratch() as folder:
        commands = {
            "plain": [PYTHON, "-c", "pass"],
            "recorded": record(folder / "trace.kymo", "calls", [PYTHON, "-c", "pass"]),
        }
        for number in range(-3, options.pairs * 5):
            for name in list(commands)[::1 if number % 2 else -1]:
                seconds = run(commands[name]).seconds
                if number >= 0:
                    times[name].append(seconds * 1e3)
    row = {
        "plain_ms": interval(times["plain"]),
        "added_ms": interval(r - p for p, r in zip(times["plain"], times["recorded"])),
        "samples": times,
    }
    table("start-up", ["", "ms"], [["python -c pass", shown(row["plain_ms"], 1)],
                                   ["added by kymo record", shown(row["added_ms"], 1)]])
    return row
