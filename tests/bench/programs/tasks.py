# SPDX-License-Identifier: Apache-2.0
"""Coroutines on asyncio's loop: producers, consumers, locks, async generators; many resumes and yields."""
import asyncio
import contextlib

ROUNDS = 70


async def countdown(start):
    while start:
        yield start
        start -= 1
        if start % 4 == 0:
            await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def turn(lock, log):
    async with lock:
        log.append(1)
        yield len(log)


async def produce(queue, number, count):
    async for item in countdown(count):
        await queue.put(number * item)
    await queue.put(None)


async def consume(queue, lock, log):
    total = 0
    while (item := await queue.get()) is not None:
        async with turn(lock, log) as position:
            total += item * (position % 5)
    return total


async def worker(number, lock, log):
    queue = asyncio.Queue(maxsize=3)
    producer = asyncio.create_task(produce(queue, number, 60))
    total = await consume(queue, lock, log)
    await producer
    return total


async def run():
    lock, log = asyncio.Lock(), []
    totals = await asyncio.gather(*(worker(number, lock, log) for number in range(1, 31)))
    return sum(totals) + len(log)


def main(rounds):
    checksum = 0
    for _ in range(rounds):
        checksum = (checksum * 31 + asyncio.run(run())) % 1000003
    return checksum
