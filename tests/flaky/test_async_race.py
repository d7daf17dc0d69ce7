"""A race of tasks: `answer` looks into the cache before `fill` has come back from its wait."""
import asyncio
import random


class Cache:
    def __init__(self):
        self.rows = None

    async def fill(self):
        await asyncio.sleep(random.uniform(0, 0.002))
        self.rows = [1, 2, 3]

    async def answer(self):
        await asyncio.sleep(0.001)
        if self.rows is None:  # cause
            return 0
        return sum(self.rows)


async def ask():
    cache = Cache()
    _, answer = await asyncio.gather(cache.fill(), cache.answer())
    return answer


def test_the_sum():
    assert asyncio.run(ask()) == 6
