# SPDX-License-Identifier: Apache-2.0
"""asyncio: tasks, queues, locks, groups, cancellation."""
import asyncio
import gc


async def produce(queue, limit):
    for n in range(limit):
        await queue.put(n)
    await queue.put(None)


async def consume(queue):
    seen = []
    while (item := await queue.get()) is not None:
        seen.append(item)
        await asyncio.sleep(0)
    return seen


async def fail_after(turns):
    for _ in range(turns):
        await asyncio.sleep(0)
    raise LookupError(turns)


async def forever(log):
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        log.append("cancelled")
        raise


async def count_up(lock, shared):
    for _ in range(3):
        async with lock:
            before = shared[0]
            await asyncio.sleep(0)
            shared[0] = before + 1


async def main():
    queue, log, shared = asyncio.Queue(2), [], [0]
    _, seen = await asyncio.gather(produce(queue, 6), consume(queue))
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(forever(log))
            group.create_task(fail_after(3))
    except* LookupError as caught:
        log.append(len(caught.exceptions))
    lock = asyncio.Lock()
    await asyncio.gather(*(count_up(lock, shared) for _ in range(3)))
    results = await asyncio.gather(fail_after(1), asyncio.sleep(0, "slept"), return_exceptions=True)
    print(seen, log, shared, [type(result).__name__ for result in results])


gc.disable()  # when it runs depends on who else makes objects
asyncio.run(main())
gc.collect()
