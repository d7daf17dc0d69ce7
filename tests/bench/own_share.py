# SPDX-License-Identifier: Apache-2.0
"""How much of a function's recorded time is the recorder's own, and what is left after it was taken off.

Without recording, the program takes the time of its functions itself.  One that does nothing but call another tells
what recording one event takes; that is taken off the others, as `kymo top --overhead` does.  Of many short rounds the
shortest counts: what else runs on the machine only adds to it.
"""

import json
import sys

from measure import BUILD, HERE, PYTHON, progress, record, run, scratch, table

sys.path.insert(0, str(BUILD / "python"))

ROUNDS = 100
PROFILES = [("calls", "sampled"), ("calls", "exact"), ("flow", "sampled")]


def times_of(trace, each_ns=0):
    from kymo.profile import _tree
    from kymo.profile.overhead import take_off

    profile = _tree.read(trace)
    take_off(profile, each_ns)
    return {times.function.name: times for times in profile.times}


def shortest(trace, names):
    """Of each function, its shortest call of those whose time is known well, and the bound of the error of that."""
    from kymo.profile import timeline

    found = {}
    for box in timeline.read(trace, most=2_000_000).boxes:
        name, took = box.function.name, box.end_ns - box.begin_ns
        error = box.begin_err_ns + box.end_err_ns
        if name in names and error * 5 <= took < found.get(name, (took + 1,))[0]:
            found[name] = took, error
    return found


def shares(alone, traces):
    """ns an event; of each function, its time as recorded, what is left of it, and its error's bound, by that alone."""
    of = min_of([shortest(trace, alone) for trace in traces])
    alone = {name: ns for name, ns in alone.items() if name in of}
    recorded = times_of(traces[0])
    each_ns = (of["calibrate"][0] - alone["calibrate"]) * recorded["calibrate"].calls / (2 * recorded["nothing"].calls)
    less = times_of(traces[0], max(round(each_ns), 0))
    taken = {name: (recorded[name].total_ns - less[name].total_ns) / recorded[name].calls for name in alone}
    found = {name: [of[name][0] / ns, (of[name][0] - taken[name]) / ns, of[name][1] / ns] for name, ns in alone.items()}
    nothing = recorded["nothing"]
    return each_ns, found | {"nothing, in all": [None, None, nothing.self_err_ns / nothing.self_ns]}


def min_of(runs):
    return {name: min(run[name] for run in runs if name in run) for name in {name: 0 for run in runs for name in run}}


def own_share(options):
    results, alone = {}, []
    with scratch() as folder:
        program = [PYTHON, HERE / "own_share_program.py", max(round(ROUNDS * options.scale), 5)]
        names = {f"{events}, clock {clock}": (events, clock) for events, clock in PROFILES}
        traces = {
            name: [folder / f"{i}-{number}.kymo" for number in range(options.pairs)] for i, name in enumerate(names)
        }
        for number in range(options.pairs):
            progress(f"own-share: {number + 1} of {options.pairs}")
            alone.append(json.loads(run(program).output))
            for name, (events, clock) in names.items():
                run(record(traces[name][number], events, program, f"--clock={clock}"))
        progress("")
        for name in names:
            each_ns, of = results[name] = shares(min_of(alone), traces[name])
            table(
                f"{name}: {each_ns:.0f} ns an event",
                ["function", "recorded by alone", "with that taken off", "bound of the error"],
                [
                    [function, *("" if share is None else f"{share:.2f}" for share in shares_of)]
                    for function, shares_of in of.items()
                ],
            )
    return results
