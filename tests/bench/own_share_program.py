# SPDX-License-Identifier: Apache-2.0
"""What own_share.py records: functions that call much or little, each with the shortest time that a round took."""

import json
import sys
import time

COUNT, ROUNDS = 5000, int(sys.argv[1])


def nothing():
    pass


def calibrate():
    for _ in range(COUNT):
        nothing()


def area(width, height):
    return width * height


def small():
    total = 0
    for i in range(COUNT):
        total += area(i, 3)
    return total


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def recursive():
    fib(17)


def numbers():
    for i in range(COUNT):
        yield i


def generator():
    return sum(numbers())


def loop():
    total = 0
    for i in range(10 * COUNT):
        total += i * i
    return total


def in_c():
    sorted(range(20 * COUNT), reverse=True)


taken = {}
for _ in range(ROUNDS):
    for function in calibrate, small, recursive, generator, loop, in_c:
        began = time.perf_counter_ns()
        function()
        taken.setdefault(function.__name__, []).append(time.perf_counter_ns() - began)
print(json.dumps({name: min(times) for name, times in taken.items()}))
