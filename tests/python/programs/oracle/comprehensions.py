# SPDX-License-Identifier: Apache-2.0
"""Comprehensions of each kind, nested, with conditions, closures and errors in them."""


def plain(n):
    return [x * x for x in range(n)], {x % 3 for x in range(n)}, {x: -x for x in range(n) if x % 2}


def nested(n):
    return [[y for y in range(x) if y != 1] for x in range(n)]


def product(n):
    return [
        (x, y, z)
        for x in range(n)
        if x
        for y in range(x)
        for z in (y, x)
        if z % 2
    ]


def closures(n):
    return [f() for f in [lambda: x for x in range(n)]], [(lambda y=x: y)() for x in range(n)]


def fails(n):
    try:
        return [1 // (x - 2) for x in range(n)]
    except ZeroDivisionError:
        return "failed"


def shadows():
    x = "outer"
    return [x for x in (1, 2)], x, [(x := y) for y in (3, 4)], x


def lazily(n):
    squares = (x * x for x in range(n))
    even = (s for s in squares if not s % 2)
    return next(even), list(even), list(squares)


def unpacked():
    return [a + b for a, (b, *_) in [(1, (2, 3)), (4, [5])]], {**{k: v for k, v in zip("ab", "cd")}}


class Scope:
    base = 3
    values = [v for v in range(base)]
    table = {name: len(name) for name in ("a", "bb")}


for function in (plain, nested, product, closures, fails, lazily):
    print(function(4))
print(shadows(), unpacked(), Scope.values, Scope.table, sum(1 for _ in "abc"), max((w for w in ["x", "yy"]), key=len))
print(all(x < 3 for x in range(9)), any(x > 3 for x in range(9)), tuple(x for x in range(3)))
