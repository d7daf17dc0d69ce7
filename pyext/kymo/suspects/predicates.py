# SPDX-License-Identifier: Apache-2.0
"""What variables held, as predicates: `x is None`, `len(x) == 0`, `x < 0`.

B. Liblit, M. Naik, A. Zheng, A. Aiken, M. Jordan: "Scalable Statistical Bug Isolation", PLDI 2005.  A predicate is
observed if a value of its variable was recorded, and true if it held at least once.

A place is (file, qualified name, how, line, name of the variable): `how` it was recorded; a returned value has no name.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kymo.suspects.elements import VALUE, Key

CALLED, RAN, RETURNED, YIELDED = "was called", "ran", "returned", "yielded"
DISTINCT = 8  # values of one place, for which `x == …` is asked
LONGEST = 40  # of a value in `x == …`
PLACES = 50_000  # of one attempt
REMEMBERED = 4096  # values

# If the same attempts had several predicates, the first that fits one of these is reported.
_ORDER = ("is None", "is not None", "is True", "is False", "type is", "== 0", "< 0", "> 0", "is nan", "len(…) == 0", "len(…) > 0", "==")

_NOTHING: frozenset[str] = frozenset()

Predicates = tuple[str, ...]
Place = tuple[str, str, str, int, str]


@dataclass(slots=True)
class Values:
    """Of one attempt."""

    first: dict[Key, int] = field(default_factory=dict)  # predicates that held, and when they did first: numbers of events
    observed: set[Place] = field(default_factory=set)
    told: set[tuple[str, ...]] = field(default_factory=set)  # files and functions with any recorded value
    many: set[Place] = field(default_factory=set)  # that held more different values than DISTINCT


def order(predicate: str) -> int:
    return next(number for number, begin in enumerate(_ORDER) if predicate.startswith(begin))


def expression(name: str, predicate: str) -> str:
    """In Python's syntax; a returned or yielded value is called "result"."""
    name = name or "result"
    if predicate.startswith("type is "):
        return f"type({name}) is {predicate.removeprefix('type is ')}"
    if predicate == "is nan":
        return f"{name} != {name}"
    return predicate.replace("…", name, 1) if predicate.startswith("len(…)") else f"{name} {predicate}"


def is_equality(predicate: str) -> bool:
    return predicate.startswith("== ") and predicate != "== 0"


def predicates_of(told: Mapping[str, Any]) -> tuple[Predicates, str | None]:
    """Those that a value has, as brief values of `Trace.events()` have it, and what it is equal to, if that is asked.

    None, where it was redacted, left out or unbound.
    """
    kind, text = told["type"], told["text"]
    if kind is None:
        return (), None
    if kind == "NoneType" or kind == "bool":
        return _of_type(kind, kind, text), None
    base, length = told.get("base", kind), told.get("length")
    if base in ("int", "float"):
        return _of_type(kind, base, _sign(text, kind)), f"== {text}" if kind == "int" and text != "0" and len(text) < LONGEST else None
    if length is None:
        return _of_type(kind, base, ""), None
    is_asked = kind == "str" and 0 < length and "cut" not in told and len(text) < LONGEST
    return _of_type(kind, base, "> 0" if length else "== 0"), f"== {text}" if is_asked else None


@functools.lru_cache(REMEMBERED)
def _of_type(kind: str, base: str, text: str) -> Predicates:
    if kind == "NoneType":
        return ("is None",)
    if kind == "bool":
        return "is not None", "type is bool", f"is {text}"
    inside = (text if base in ("int", "float") else f"len(…) {text}",) if text else ()
    return "is not None", f"type is {kind}", *inside


def _sign(text: str, kind: str) -> str:
    text = text.removeprefix(f"{kind}(").removesuffix(")")
    if text == "nan":
        return "is nan"
    if text in ("0", "0.0", "-0.0"):
        return "== 0"
    if text[:1] == "-":
        return "< 0"
    return "> 0" if text[:1].isdigit() or text[:1] in ("≈", "i") else ""  # no number: that was left out


@dataclass(slots=True, eq=False)
class Shape:
    """Predicates of a variable and its attributes, by name.  Equal ones share one object."""

    of: tuple[tuple[str, Predicates], ...]


@dataclass(slots=True, eq=False)
class Told:
    """A variable at one time."""

    shape: Shape
    equals: list[tuple[str, str]]  # what it and its attributes were equal to, by name


class _Seen:
    __slots__ = ("shapes", "equal")

    def __init__(self) -> None:
        self.shapes: set[Shape] = set()
        self.equal: dict[str, set[str] | None] = {}  # None: too many


class Observer:
    """Collects the values of events in their order."""

    def __init__(self, has_lines: bool):
        """@has_lines: variables that changed are recorded at each line."""
        self.found = Values()
        self.has_lines = has_lines
        self._texts: dict[str, dict[str, Told]] = {}
        self._shapes: dict[tuple[tuple[str, Predicates], ...], Shape] = {}
        self._seen: dict[tuple[str, str, str, int], _Seen] = {}

    def read(self, values: str) -> dict[str, Told]:
        """By variable; "" is what is returned, yielded or raised."""
        known = self._texts.get(values)
        if known is None:
            if len(self._texts) >= REMEMBERED:
                self._texts.clear()
            event = json.loads(values)
            known = self._texts[values] = {name: self._tell(name, value) for name, value in (event.get("values") or {}).items()}
            if "value" in event:
                known[""] = self._tell("", event["value"])
        return known

    def _tell(self, name: str, value: dict[str, Any]) -> Told:
        predicates, equal = predicates_of(value)
        of = [(name, predicates)] if predicates else []
        equals = [(name, equal)] if equal else []
        for each, held in value.get("attributes", {}).items():
            predicates, equal = predicates_of(held)
            if predicates:
                of.append((f"{name}.{each}", predicates))
            if equal:
                equals.append((f"{name}.{each}", equal))
        key = tuple(of)
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= REMEMBERED:
                self._shapes.clear()
            shape = self._shapes[key] = Shape(key)
        return Told(shape, equals)

    def see(self, file: str, function: str, how: str, line: int, told: Iterable[Told], now: int) -> None:
        where = file, function, how, line
        seen = self._seen.get(where)
        if seen is None:
            seen = self._seen[where] = _Seen()
        for each in told:
            if each.shape not in seen.shapes:
                if len(seen.shapes) >= REMEMBERED:
                    seen.shapes.clear()
                seen.shapes.add(each.shape)
                for name, predicates in each.shape.of:
                    self._hold((*where, name), predicates, now)
            for name, equal in each.equals:
                known = seen.equal.get(name, _NOTHING)
                if known is not None and equal not in known:
                    seen.equal[name] = self._equal((*where, name), {*known, equal}, now)

    def _hold(self, place: Place, predicates: Predicates, now: int) -> None:
        if place not in self.found.observed:
            if len(self.found.observed) >= PLACES:
                return
            self.found.observed.add(place)
            self.found.told.add(place[:2])
        for predicate in predicates:
            self.found.first.setdefault((VALUE, *place, predicate), now)

    def _equal(self, place: Place, values: set[str], now: int) -> set[str] | None:
        if place not in self.found.observed:
            return None
        if len(values) <= DISTINCT:
            for value in values:
                self.found.first.setdefault((VALUE, *place, value), now)
            return values
        self.found.many.add(place)
        for value in values:
            self.found.first.pop((VALUE, *place, value), None)
        return None
