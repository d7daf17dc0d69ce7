# SPDX-License-Identifier: Apache-2.0
"""What traces with asyncio's tasks hold."""
import asyncio


def add(a, b):
    return a + b


async def leaf(n):
    await asyncio.sleep(0)
    return add(n, 1)


async def numbers(n):
    for i in range(n):
        yield await leaf(i)


async def branch(n):
    total = 0
    async for i in numbers(n):
        total = add(total, i)
    if n == 2:
        asyncio.current_task().set_name("renamed")
        await leaf(0)
    return total


async def main():
    tasks = [asyncio.create_task(branch(n), name=name) for n, name in enumerate(["same", "same", None])]
    lost = asyncio.create_task(leaf(0), name="never runs")
    lost.cancel()
    await asyncio.gather(*tasks, lost, return_exceptions=True)
    for _ in range(2):
        await asyncio.create_task(leaf(1), name="again")
    loop = asyncio.get_running_loop()
    loop.set_task_factory(asyncio.eager_task_factory)
    return await asyncio.gather(branch(1), leaf(1))


add(*asyncio.run(main()))
