# SPDX-License-Identifier: Apache-2.0
"""Subtract the recorder's own share of times."""

from kymo.profile._tree import Function, Profile
from kymo.profile.edges import function_of, walk


def take_off(profile: Profile, each_ns: int) -> None:
    """`each_ns`: what recording one event took.

    A call has two, when it begins and when it ends.  Of what both take, the part before the clock is read at the
    beginning and the part after it at the end belong to the caller, together about one; the other one belongs to the
    function.
    Times of functions and nodes decrease, but not below 0; those of lines stay.
    """
    if not each_ns:
        return
    before = {node: (node.self_ns, node.total_ns) for node in profile.nodes}
    for node in profile.nodes:
        taken = each_ns * (node.calls + node.resumes)
        node.self_ns -= taken
        if node.parent is not None:
            node.parent.self_ns -= taken
    for node in profile.nodes:
        node.self_ns = node.total_ns = max(node.self_ns, 0)
    for node in reversed(profile.nodes):
        if node.parent is not None:
            node.parent.total_ns += node.total_ns
    # Functions also have the calls for which the nodes had no room.
    selves: dict[Function, int] = {}
    totals: dict[Function, int] = {}
    running: dict[Function, int] = {}
    for node, is_begin in walk(profile):
        function = function_of(node)
        running[function] = running.get(function, 0) + (1 if is_begin else -1)
        if is_begin:
            self_ns, total_ns = before[node]
            selves[function] = selves.get(function, 0) + self_ns - node.self_ns
            if running[function] == 1:
                totals[function] = totals.get(function, 0) + total_ns - node.total_ns
    profile.times = [
        times._replace(
            self_ns=max(times.self_ns - selves.get(times.function, 0), 0),
            total_ns=max(times.total_ns - totals.get(times.function, 0), 0),
        )
        for times in profile.times
    ]
