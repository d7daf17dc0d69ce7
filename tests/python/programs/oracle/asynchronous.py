# SPDX-License-Identifier: Apache-2.0
"""Coroutines: await, async for, async with, async generators, with a loop of their own."""
import types


@types.coroutine
def pause(value):
    return (yield value)


class Door:
    async def __aenter__(self):
        await pause("open")
        return self

    async def __aexit__(self, kind, value, traceback):
        await pause("close")
        return kind is KeyError


class Steps:
    def __init__(self, limit):
        self.left = limit

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.left:
            raise StopAsyncIteration
        self.left -= 1
        return await pause(self.left)


class Once:
    def __await__(self):
        got = yield "once"
        return got


async def ticks(limit):
    try:
        for n in range(limit):
            got = yield n
            if got:
                await pause(got)
    finally:
        await pause("ticks end")


async def inner(n):
    if n == 3:
        raise ValueError(n)
    return await pause(n) or n


async def outer():
    total = 0
    for n in range(5):
        try:
            total += await inner(n)
        except ValueError:
            total += 100
    return total


async def loops():
    seen = [n async for n in Steps(3)]
    async for n in ticks(3):
        seen.append(n)
    else:
        seen.append("else")
    async for n in Steps(9):
        if n is None:
            break
    seen.append(await Once())
    return seen


async def doors():
    async with Door() as first, Door():
        await pause(first is not None)
    async with Door():
        raise KeyError
    try:
        async with Door():
            raise OSError
    except OSError:
        return "passed"


async def by_hand():
    generator = ticks(9)
    got = [await generator.asend(None), await generator.asend("again")]
    try:
        await generator.athrow(LookupError)
    except LookupError:
        got.append("thrown")
    left = ticks(9)
    await left.__anext__()
    await left.aclose()
    return got


async def cancelled():
    try:
        while True:
            await pause("waiting")
    except InterruptedError:
        await pause("cleaning up")
        raise


def run(coroutine):
    paused = []
    try:
        value = None
        while True:
            value = coroutine.send(value if value == "again" else None)
            paused.append(value)
    except StopIteration as stop:
        return stop.value, paused


for make in (outer, loops, doors, by_hand):
    print(make.__name__, run(make()))
stuck = cancelled()
stuck.send(None)
stuck.send(None)
print(stuck.throw(InterruptedError))
try:
    stuck.send(None)
except InterruptedError:
    print("cancelled")
never = outer()
never.close()
half = outer()
half.send(None)
half.close()
