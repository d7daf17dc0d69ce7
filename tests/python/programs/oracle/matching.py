# SPDX-License-Identifier: Apache-2.0
"""match in all its forms, and conditions that branch."""
from dataclasses import dataclass


@dataclass
class Point:
    x: int
    y: int


def describe(value):
    match value:
        case None | False:
            return "nothing"
        case 0:
            return "zero"
        case int(n) if n < 0:
            return f"negative {n}"
        case int() | float():
            return "number"
        case "a" | "b" as letter:
            return letter
        case []:
            return "empty"
        case [single]:
            return f"one {single}"
        case [first, *_, last] if first == last:
            return "ends alike"
        case [_, [_, deep], *rest]:
            return f"deep {deep} {len(rest)}"
        case {"kind": "point", "at": Point(x=0, y=y)}:
            return f"on the axis at {y}"
        case {"kind": kind, **others}:
            return f"{kind} {sorted(others)}"
        case Point(x, y) if x == y:
            return "diagonal"
        case Point():
            return "point"
        case str():
            return "text"
    return "other"


def branches(a, b, c):
    if a and (b or not c):
        result = "x" if b else "y"
    elif a or b:
        result = None
    else:
        result = c
    while c:
        c -= 1
        if c == 2:
            continue
        if c == 1 and a:
            break
    else:
        result = (result, "else")
    if result is None:
        return a if a is not None else b
    return not result or 0 < len(result) < 3 <= 4


cases = [None, False, 0, -3, 7, 2.5, "a", "b", "c", [], [1], [1, 2, 1], [1, [2, 3], 4], (1, 2),
         Point(1, 1), Point(1, 2), {"kind": "point", "at": Point(0, 5)}, {"kind": "point", "at": Point(1, 5)},
         {"kind": "x", "size": 1}, {}, b"z"]
for case in cases:
    print(describe(case))
for bits in range(27):
    print(branches(bits % 3 or "", bits // 3 % 3, bits // 9 % 3 + (bits % 5 == 0)))
