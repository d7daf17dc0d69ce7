# SPDX-License-Identifier: Apache-2.0
"""Branches that go one way for a long time, and then the other: OFTEN calls of a kind, then one of another."""
import asyncio
import contextlib
import threading

OFTEN = 70


def simple(n):
    if n < 0:
        n = -n
    return n


def alternative(n):
    if n >= 0:
        m = 1
    else:
        m = 2
    return m


def chain(n):
    if n == 1:
        return "one"
    elif n == 2:
        return "two"
    elif n == 3:
        return "three"
    return None


def nested(n):
    if n:
        if n > 10:
            if n > 20:
                return 20
            return 10
        return 1
    return 0


def joined(n):
    if n >= 0:
        n += 1
    return n


def on_one_line(n):
    if n < 0: return -1
    m = 1 if n < 100 else 2
    return (n and m) or n == 50 or -m


def same_line_further_on(n):
    if n < 0: m = 0; n = 1
    else: m = 1
    assert n < 1000, n
    return m if n < 500 else (
        m + 1)


def loop(n):
    total = 0
    for i in range(40):
        if i == n:
            total += 1
            break
        if i > 35 and n < 0:
            continue
        total += i
    else:
        total = -1
    return total


def loop_that_is_left(n):
    for i in range(50):
        for j in range(3):
            if i * j == n:
                return i, j
            if n < -1:
                raise ValueError
        else:
            continue
        break
    return None


def endless(n):
    count = 0
    while True:
        count += 1
        if count > 60:
            break
        if n < 0:
            return None
    while count > n:
        count -= 1
        if count == -n:
            return count
    return count


def finally_copies(n):
    try:
        if n < 0:
            return "early"
        if n > 10:
            raise KeyError(n)
        if n == 9:
            n = 8
    except KeyError:
        if n > 20:
            n = 20
        return n
    finally:
        n += 1
        if n > 30:
            n = 30
        if n == 10:
            n = 0
    return n


def finally_twice(n):
    """All lines are seen before the last arm is."""
    try:
        if n > 50:
            raise KeyError
    finally:
        m = 1
        if n > 30:
            m = 2
        m += 1
    return m


def cleaned(n):
    with contextlib.suppress(KeyError):
        if n < 0:
            raise KeyError
        if n > 10:
            return 10
        n += 1
    if n > 9:
        n = 9
    return n


def matched(n):
    match n:
        case -1:
            return "minus"
        case 0 | 1:
            m = 1
        case int() if n > 10:
            m = 2
        case [first, *_]:
            m = first
        case {"key": value}:
            m = value
        case _:
            m = 3
    return m


def comprehended(n):
    many = [i for i in range(40) if i != n]
    lazy = sum(
        i
        for i in many
        if i
        < n + 100
    )
    pairs = {
        i: j
        for i in range(3)
        for j in many[:4]
        if j != -n
    }
    return lazy, pairs


def produced(n):
    for i in range(3):
        if n < 0:
            yield -1
        got = yield i
        if got:
            yield got
        elif n > 10:
            return
    if n == 5:
        yield from (6, 7)


def consumed(n):
    for i in produced(n):
        if i < 0:
            break
        n += i
    for i in produced(n):
        n += i
    while n < 0:
        n += 1
    return n


def sent(n):
    generator = produced(0)
    next(generator)
    if n:
        return generator.send(n)
    return list(generator)


async def ticks(n):
    for i in range(3):
        if i == n:
            await asyncio.sleep(0)
        yield i


@contextlib.asynccontextmanager
async def managed(n):
    if n < 0:
        yield None
        return
    yield n


async def awaited(n):
    async for i in ticks(n):
        if i + n == 100:
            break
        if n < -1:
            continue
    async with managed(n) as m:
        if m is None:
            n = 0
    return [i async for i in ticks(n) if i != n]


def jumped_over(n):
    x = None if n >= 0 else n
    if x is None:
        return 0
    if x is not None and x > -5:
        x = 5
    while x and x > 0:
        x -= 1
        if not x:
            break
    return x


def caught(n):
    try:
        m = [1, 2][n]
    except IndexError:
        if n > 5:
            m = 5
        else:
            m = 2
    except TypeError:
        m = None
    else:
        if m > 1:
            m = 0
    return m


def raised_where_the_other_arm_begins(n):
    if n < 0:
        raise ValueError(
            n)
    if n > 20:
        n.missing
    return n


# So far that its jumps have an EXTENDED_ARG.
exec(compile("def far(n, m):\n    for i in range(2):\n        if n == 7:\n" + "            m += n * i\n" * 200 +
             "        if n < 0:\n            m -= 1\n    return m\n", __file__ + ".far", "exec"))


def deep(n):
    if n > 3:
        return deep(n - 1)
    if n < 0:
        return deep(3) + deep(4)
    return n


CALLS = [
    (simple, [3], [-3]), (alternative, [3], [-3]), (chain, [0], [2, 1, 3]), (nested, [1], [15, 0, 25]),
    (joined, [1], [-1]), (on_one_line, [1], [0, -1, 200, 50]), (same_line_further_on, [1], [-1, 600, 2000]),
    (loop, [100], [3, -1]), (loop_that_is_left, [1000], [4, -2]), (endless, [5], [-2, 70]),
    (finally_copies, [1], [-1, 15, 9, 25, 40, 9]), (finally_twice, [1], [60, 40]),
    (cleaned, [1], [-1, 9, 20]),
    (matched, [0], [20, [4], {"key": 5}, "", -1, 1]), (comprehended, [70], [3, -60, -2]),
    (produced, [0], [0]), (consumed, [1], [20, -1, 5, -100]), (sent, [0], [3]), (jumped_over, [1], [-1, -9]),
    (caught, [0], [1, 2, 9, None]), (raised_where_the_other_arm_begins, [1], [30, -1]),
    (lambda n: far(n, 0), [1], [7, -1]), (deep, [3], [9, -1]),
]


def call(function, n):
    try:
        function(n)
    except (AttributeError, AssertionError, KeyError, TypeError, ValueError):
        pass


async def all_awaited():
    for n in [50] * OFTEN + [1, 100, 99, -1, -2]:
        await awaited(n)


for function, usual, late in CALLS:
    for _ in range(OFTEN):
        for n in usual:
            call(function, n)
for function, usual, late in CALLS:
    for n in late:
        # Some of what comes late does so in another thread.
        if len(late) > 2:
            thread = threading.Thread(target=call, args=(function, n))
            thread.start()
            thread.join()
        else:
            call(function, n)
    for n in usual:
        call(function, n)
asyncio.run(all_awaited())

count = 0
while True:
    count += 1
    if count > OFTEN:
        break
    if count == 60:
        first = count
else:
    count = 0
for count in range(OFTEN):
    if count == 65:
        last = count
