# SPDX-License-Identifier: Apache-2.0
"""Recorded threads against what should have happened in them."""

FIELDS = ("event", "file", "function", "line", "offset", "dest", "callable", "exception")


def shape(event):
    """What of an event is the same whenever the same program runs."""
    return tuple(event.get(field) for field in FIELDS)


def without_offsets(events):
    """Offsets of exceptions out of a call depend on the way that it was made, and so on what is watched.  Lines do not."""
    return [(*event[:4], None, *event[5:]) if event[0] in ("RAISE", "PY_UNWIND") else event for event in events]


def threads_of(events):
    """Lists of events by (pid, tid)."""
    threads = {}
    for event in events:
        threads.setdefault((event["pid"], event["tid"]), []).append(event)
    return threads


def lost(events):
    return sum(event["lost"] for event in events if event["event"] == "GAP")


def check_run(events, reference):
    """@events are those of @reference, but for what their gaps name; return the ordinal that they reach."""
    n = 0
    for event in events:
        assert event["n"] == n + 1, f"after n = {n} comes {event}"
        if event["event"] == "GAP":
            assert event["lost"] > 0, event
            n += event["lost"]
            continue
        assert n < len(reference), f"more than ever happens: {event}"
        assert shape(event) == reference[n], f"n = {n + 1}"
        n += 1
    return n


def first_difference(left, right):
    """A readable account of where two lists part, or None."""
    for i, (a, b) in enumerate(zip(left, right)):
        if a != b:
            return f"at {i}: {a}\n  not {b}\n  after {left[max(0, i - 3):i]}"
    if len(left) != len(right):
        longer = left if len(left) > len(right) else right
        i = min(len(left), len(right))
        return f"lengths {len(left)} and {len(right)}; then {longer[i:i + 3]}"
    return None
