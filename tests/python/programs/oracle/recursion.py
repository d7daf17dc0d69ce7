# SPDX-License-Identifier: Apache-2.0
"""Recursion: plain, mutual, through C, in generators."""


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


def hanoi(n, a, b, c):
    if n:
        yield from hanoi(n - 1, a, c, b)
        yield a, c
        yield from hanoi(n - 1, b, a, c)


def through_c(n):
    return list(map(through_c, range(n)))


def ackermann(m, n):
    if not m:
        return n + 1
    return ackermann(m - 1, 1 if not n else ackermann(m, n - 1))


def permutations(items):
    if not items:
        return [[]]
    return [[first, *rest] for i, first in enumerate(items) for rest in permutations(items[:i] + items[i + 1:])]


print(factorial(20), is_even(31), list(hanoi(4, *"abc"))[-1], len(through_c(5)))
print(ackermann(2, 3), len(permutations([1, 2, 3, 4])))
