# SPDX-License-Identifier: Apache-2.0
"""Stacks on one line each, with the nanoseconds that their innermost function took itself: the input of flamegraph.pl."""

from collections.abc import Iterator

from kymo.profile._tree import Node, Profile
from kymo.profile.edges import function_of, walk
from kymo.profile.names import with_place


def frame(node: Node) -> str:
    """Semicolons separate frames."""
    return with_place(function_of(node)).replace(";", ":")


def write(profile: Profile) -> Iterator[str]:
    """Lines, one for equal stacks."""
    stack: list[str] = []
    sums: dict[str, int] = {}
    for node, is_begin in walk(profile):
        if not is_begin:
            stack.pop()
            continue
        stack.append(frame(node))
        ns = node.self_ns
        if ns:
            text = ";".join(stack)
            sums[text] = sums.get(text, 0) + ns
    return (f"{text} {ns}" for text, ns in sums.items())
