# SPDX-License-Identifier: Apache-2.0
"""Elements ranked by how much they correlate with failing.

Ochiai: Abreu, Zoeteweij, van Gemund, "An Evaluation of Similarity Coefficients for Software Fault Localization", PRDC 2006.
Tarantula: Jones, Harrold, "Empirical Evaluation of the Tarantula Automatic Fault-Localization Technique", ASE 2005.
DStar, with the exponent 2: Wong, Debroy, Gao, Li, "The DStar Method for Effective Software Fault Localization",
IEEE Transactions on Reliability 63 (2014).
Of predicates over values only those are candidates whose Increase is above 0: Liblit et al., see predicates.py.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from kymo.suspects.attempts import Attempt
from kymo.suspects.elements import (
    BRANCH,
    CALL,
    CALL_ORDER,
    EXCEPTION,
    INTERLEAVING,
    KINDS,
    LINE,
    NO_CALL,
    ORDER,
    ROUND,
    VALUE,
    Key,
)
from kymo.suspects.predicates import CALLED, DISTINCT, RAN, expression, is_equality, order

FACTS = 3  # of one suspect, that are reported
VALUES = 2  # of these, where there are others
ALIKE = 3  # suspects of values alone that the same attempts had: a value that is passed on is in many functions
SHOWN = 6  # lines of an interrupted thread


class Support(NamedTuple):
    """The number of attempts on each side that had it, and the number for which that is known."""

    failing: int
    failing_known: int
    passing: int
    passing_known: int


def ochiai(at: Support) -> float:
    return at.failing / math.sqrt(at.failing_known * (at.failing + at.passing)) if at.failing else 0.0


def tarantula(at: Support) -> float:
    failing, passing = at.failing / at.failing_known, at.passing / at.passing_known
    return failing / (failing + passing) if failing else 0.0


def dstar(at: Support) -> float:
    others = at.passing + at.failing_known - at.failing
    return at.failing**2 / others if others else math.inf


MEASURES: dict[str, Callable[[Support], float]] = {"ochiai": ochiai, "tarantula": tarantula, "dstar": dstar}


@dataclass(slots=True)
class Fact:
    kind: str
    lines: list[int]  # the first is where it is
    text: str
    expression: str | None = None  # that held there: of VALUE


@dataclass(slots=True)
class Suspect:
    score: float
    support: Support
    file: str
    function: str | None
    facts: list[Fact]


class _Element(NamedTuple):
    key: Key
    score: float
    support: Support
    where: tuple[bool | None, ...]  # of each attempt
    time: float


def rank(attempts: list[Attempt], measure: str = "ochiai") -> tuple[list[Suspect], int]:
    """The suspects, the first one first; and how many elements were not the same in all attempts."""
    everything = set().union(*(attempt.present for attempt in attempts))
    always = everything.intersection(*(attempt.present for attempt in attempts))
    candidates = everything - always
    candidates -= _idle_predicates(candidates, attempts)
    candidates |= {(NO_CALL, *key[1:]) for key in candidates if key[0] == CALL}
    where = {key: tuple(attempt.has(key) for attempt in attempts) for key in candidates}
    functions: dict[tuple[str, int], str] = {}
    for attempt in attempts:
        functions |= attempt.sequences.functions
    elements = []
    for key, known in where.items():
        support = _support(attempts, known)
        if not support.failing or not support.failing_known or not support.passing_known:
            continue
        if support.failing * support.passing_known <= support.passing * support.failing_known:
            continue
        if key[0] == VALUE and is_equality(key[-1]) and support.failing < min(2, support.failing_known):
            continue  # every attempt has values of its own
        if not _is_redundant(key, known, where):
            elements.append(_Element(key, MEASURES[measure](support), support, known, _time(attempts, key)))
    elements.sort(key=lambda each: (-each.score, each.time, KINDS.index(each.key[0]), each.key[1], str(each.key[2:])))
    return _fold(_without_repetitions(elements), attempts, functions), len(candidates)


def _support(attempts: list[Attempt], where: tuple[bool | None, ...]) -> Support:
    sides = [[found for attempt, found in zip(attempts, where) if attempt.has_failed is side and found is not None]
             for side in (True, False)]
    return Support(sum(sides[0]), len(sides[0]), sum(sides[1]), len(sides[1]))


def _time(attempts: list[Attempt], key: Key) -> float:
    """When it was first seen in failed attempts, by the median; elements never seen come last."""
    times = [time for attempt in attempts if attempt.has_failed and (time := attempt.time(key)) is not None]
    return median(times) if times else math.inf


def _is_redundant(key: Key, found: tuple[bool | None, ...], where: dict[Key, tuple[bool | None, ...]]) -> bool:
    """It occurs whenever one of its parts does: that one is reported already."""
    kind, file = key[:2]
    parts: list[Key] = []
    if kind == ORDER:
        parts = [(LINE, file, key[3]), (LINE, file, key[4])]
    elif kind == CALL_ORDER:
        parts = [(CALL, *key[3]), (CALL, *key[4])]
    elif kind == ROUND:
        parts = [(BRANCH, file, key[5], key[6]), (LINE, file, key[5]), (LINE, file, key[6])]
    elif kind == INTERLEAVING:
        parts = [(LINE, file, key[3]), (LINE, file, key[5])]
    return any(where.get(part) == found for part in parts)


def _idle_predicates(candidates: set[Key], attempts: list[Attempt]) -> set[Key]:
    """Those that only say that their place ran, and equalities if there are many different values."""
    observed: dict[tuple[Any, ...], list[int]] = {}
    equal: Counter[tuple[Any, ...]] = Counter()
    for attempt in attempts:
        for place in attempt.sequences.values.observed:
            observed.setdefault(place, [0, 0])[attempt.has_failed] += 1
    values = [key for key in candidates if key[0] == VALUE]
    equal.update(key[1:-1] for key in values if is_equality(key[-1]))
    idle = set()
    for key in values:
        passing, failing = observed[key[1:-1]]
        held = [0, 0]
        for attempt in attempts:
            held[attempt.has_failed] += key in attempt.present
        # Increase: a larger share of attempts failed where it held than where it was observed.
        if held[True] * passing <= failing * held[False] or is_equality(key[-1]) and equal[key[1:-1]] > DISTINCT:
            idle.add(key)
    return idle


def _without_repetitions(elements: list[_Element]) -> list[_Element]:
    """Keep the first place of a predicate in each function, and one predicate of a variable if the same attempts had several."""
    places: set[tuple[Any, ...]] = set()
    best: dict[tuple[Any, ...], _Element] = {}
    for element in elements:
        if element.key[0] != VALUE:
            continue
        file, function, _, _, name, predicate = element.key[1:]
        if (file, function, name, predicate) in places:
            continue
        places.add((file, function, name, predicate))
        alike = (element.where, file, function, name)
        known = best.get(alike)
        if known is None or (element.time, order(predicate)) < (known.time, order(known.key[-1])):
            best[alike] = element
    kept = {element.key for element in best.values()}
    return [element for element in elements if element.key[0] != VALUE or element.key in kept]


def _fold(elements: list[_Element], attempts: list[Attempt], functions: dict[tuple[str, int], str]) -> list[Suspect]:
    """Elements of one function that the same attempts had become one suspect."""
    groups: dict[tuple[object, ...], list[_Element]] = {}
    for element in elements:
        file, function = _place(element.key, functions)
        groups.setdefault((element.where, element.key[0] == NO_CALL, file, function), []).append(element)
    suspects = []
    alike: Counter[tuple[bool, ...]] = Counter()
    for (_, _, file, function), group in groups.items():
        if all(element.key[0] == VALUE for element in group):
            had = tuple(map(bool, group[0].where))
            alike[had] += 1
            if alike[had] > ALIKE:
                continue
        facts: list[Fact] = []
        meanwhile: dict[tuple[int, str], Fact] = {}
        for element in group:
            fact = _describe(element.key, attempts)
            if element.key[0] == INTERLEAVING:
                # All that ran while a thread stood at a line is one fact.
                known = meanwhile.setdefault((element.key[3], element.key[4]), fact)
                if known is not fact:
                    continue
            if element.key[0] == LINE and any(element.key[2] in known.lines for known in facts):
                continue
            facts.append(fact)
        values = [fact for fact in facts if fact.kind == VALUE]
        if len(values) < len(facts):
            facts = [fact for fact in facts if fact not in values[VALUES:]]
        suspects.append(Suspect(group[0].score, group[0].support, str(file), function, facts[:FACTS]))  # type: ignore[arg-type]
    return suspects


def _place(key: Key, functions: dict[tuple[str, int], str]) -> tuple[str, str | None]:
    kind, file = key[:2]
    if kind in (LINE, BRANCH):
        return file, functions.get((file, key[2]))
    return key[3] if kind == CALL_ORDER else (file, key[2])


def _describe(key: Key, attempts: list[Attempt]) -> Fact:
    kind, file = key[:2]
    if kind == LINE:
        return Fact(kind, [key[2]], "ran")
    if kind == BRANCH:
        return Fact(kind, _lines(key[2:]), f"went on to line {key[3]}" if key[3] else "left the function")
    if kind == EXCEPTION:
        return Fact(kind, [key[3]], f"raised {key[4]}")
    if kind in (CALL, NO_CALL):
        return Fact(kind, [_start(attempts, key[1:])], "was called" if kind == CALL else "was not called")
    if kind == ROUND:
        _, _, _, loop, number, line, to = key
        return Fact(kind, _lines((line, to, loop)), f"went on to line {to} in round {number} of the loop in line {loop}")
    if kind == ORDER:
        return Fact(kind, [key[4], key[3]], f"ran after line {key[3]}")
    if kind == CALL_ORDER:
        earlier, later = (_start(attempts, each, True) for each in key[3:])
        return Fact(kind, [earlier], f"{key[3][1]} was called before {key[4][1]} ({key[4][0]}:{later})")
    if kind == VALUE:
        _, _, function, how, line, name, predicate = key
        told = expression(name, predicate)
        return Fact(kind, [line if how != CALLED else _start(attempts, (file, function))],
                    f"{how}, and {'then ' if how == RAN else ''}{told}", told)
    to = next((lines for each in attempts if (lines := each.sequences.next_lines.get(key))), {})
    stood = f"stood between here and line {list(to)[-1]}" if to else "stood here"
    return Fact(kind, _lines((key[3], *to))[:SHOWN], f"{stood} while another thread ran {key[4]}, line {key[5]}")


def _lines(numbers: tuple[int | None, ...]) -> list[int]:
    """Each once, in the order given."""
    return list(dict.fromkeys(number for number in numbers if number))


def _start(attempts: list[Attempt], function: tuple[str, str], is_body: bool = False) -> int:
    """Its first line, or the first of its body that ran; 0: not known."""
    for attempt in attempts:
        if line := (attempt.sequences.bodies if is_body else attempt.starts).get(function):
            return line
    return 0
