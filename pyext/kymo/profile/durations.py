# SPDX-License-Identifier: Apache-2.0
"""Durations with known error bounds; all in nanoseconds.

Of one call no more is shown than was measured.  What many calls took together is known better than its bound, which takes every
one of them for as wrong as it can be: see replay/profile/spread.h.
"""

_UNITS = (("ns", 0), ("us", 3), ("ms", 6), ("s", 9))


def is_measured(ns: int, err_ns: int) -> bool:
    """Whether it is more than its error bound; if not, it may have been anything from 0 on."""
    return ns > err_ns or not err_ns


def text(ns: int, err_ns: int, digits: int = 4) -> str:
    """A sum for people: "12.35 ms", with at most `digits` digits; two, if its bound leaves fewer."""
    place = max(min(_place(err_ns), _place(ns) - 1), _place(ns) - digits + 1)
    value = _to_place(ns, place)
    return _with_unit(value, max(place, _place(value) - digits + 1))


def bounded_text(ns: int, err_ns: int, digits: int = 4) -> str:
    """The time of one call: as text(), with no more digits than its bound leaves.

    If it is not more than its error bound, "~20 ms": it may have been anything up to their sum; or, where even that digit is
    not known, "<2.5 us": the most that it can have been.
    """
    place = _place(err_ns)
    if is_measured(ns, err_ns):
        value = _to_place(ns, max(place, _place(ns) - digits + 1))
        return _with_unit(value, max(place, _place(value) - digits + 1))
    value = _to_place(ns, place)
    return "~" + _with_unit(value, place) if value > 0 else "<" + error_text(max(ns, 0) + err_ns)


def error_text(err_ns: int) -> str:
    """An error bound: two digits, never less than it is."""
    place = max(_place(err_ns) - 1, 0)
    return _with_unit(-(-err_ns // 10**place) * 10**place, place)


def _place(ns):
    """The place of the first digit: 0 for ones."""
    return len(str(abs(ns))) - 1


def _to_place(ns, place):
    if place <= 0:
        return ns
    unit = 10**place
    return (ns + unit // 2) // unit * unit


def _with_unit(ns, place):
    unit, exponent = _UNITS[0]
    for name, power in _UNITS:
        if abs(ns) >= 10**power:
            unit, exponent = name, power
    decimals = max(exponent - max(place, 0), 0)
    whole, part = divmod(abs(ns), 10**exponent)
    shown = str(whole) + (f".{part:0{exponent}d}"[: decimals + 1] if decimals else "")
    return f"{'-' if ns < 0 else ''}{shown} {unit}"
