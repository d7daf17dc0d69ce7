# SPDX-License-Identifier: Apache-2.0
"""Tasks of many kinds.  A tool of its own sees each entry into a coroutine of this file, and asks asyncio which task runs; what it
saw goes to the file that is the argument, as JSON.

Tasks are numbered here without being kept alive.
"""
import asyncio
import contextlib
import gc
import json
import sys
import threading
import types
import weakref

COROUTINES = 0x80 | 0x100 | 0x200
seen, names, numbers = [], {}, weakref.WeakKeyDictionary()
lock = threading.Lock()


def running_task():
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def watch(event):
    def callback(code, offset, *_):
        if code.co_filename != __file__ or not code.co_flags & COROUTINES:
            return
        task = running_task()
        number = None
        if task is not None and isinstance(task, asyncio.Task):  # and not one in Python
            with lock:
                number = numbers.setdefault(task, len(names) + 1)
                names[number] = asyncio.Task.get_name(task)
        seen.append((threading.get_native_id(), event, code.co_qualname, number))
    return callback


def watch_coroutines(tool=0):
    monitoring = sys.monitoring
    monitoring.use_tool_id(tool, "tasks")
    events = 0
    for name in ("PY_START", "PY_RESUME", "PY_THROW"):
        number = getattr(monitoring.events, name)
        monitoring.register_callback(tool, number, watch(name))
        events |= number
    monitoring.set_events(tool, events)


async def leaf(n=1):
    for _ in range(n):
        await asyncio.sleep(0)
    return n


async def branch(n=1):
    with contextlib.suppress(ZeroDivisionError):
        await leaf(n)
        1 / 0
    return await leaf()


async def numbers_up_to(n):
    for i in range(n):
        await leaf()
        yield i


@types.coroutine
def by_hand():
    yield


async def of_generators():
    async with contextlib.aclosing(numbers_up_to(3)) as some:
        async for _ in some:
            await branch()
    return [i async for i in numbers_up_to(2)]


async def driven():
    await by_hand()


async def drives():
    """A coroutine without a task of its own, in this one's."""
    coroutine = driven()
    coroutine.send(None)
    with contextlib.suppress(StopIteration):
        coroutine.send(None)
    await leaf()


async def fails(n):
    await leaf(n)
    raise ValueError(n)


async def waits():
    try:
        await asyncio.sleep(1000)
    finally:
        await leaf()


async def cancelled():
    before, later = asyncio.create_task(waits(), name="before"), asyncio.create_task(waits(), name="later")
    before.cancel()
    await asyncio.sleep(0)
    later.cancel()
    await asyncio.gather(before, later, return_exceptions=True)


async def renames():
    await leaf()
    asyncio.current_task().set_name("a name \u00fc \ud800 \0 <script>")
    await leaf()


async def one_after_the_other(count):
    """Where one was, the next one will be."""
    for i in range(count):
        await asyncio.create_task(branch(), name="again")
        await asyncio.create_task(leaf())
        if i % 8 == 0:
            lost = asyncio.create_task(waits(), name="again")
            lost.cancel()  # it never starts
            with contextlib.suppress(asyncio.CancelledError):
                await lost
            del lost


class Derived(asyncio.Task):
    def get_name(self):
        raise AssertionError("nobody asks")

    get_coro = get_name


async def of_derived():
    loop = asyncio.get_running_loop()
    loop.set_task_factory(lambda loop, coro, **more: Derived(coro, loop=loop, **more))
    await asyncio.gather(branch(), leaf(2))
    await asyncio.create_task(branch(), name="derived")
    loop.set_task_factory(lambda loop, coro, **more: asyncio.tasks._PyTask(coro, loop=loop, **more))
    await asyncio.gather(branch(), asyncio.create_task(leaf(2), name="in Python"))
    loop.set_task_factory(None)


async def eager():
    loop = asyncio.get_running_loop()
    loop.set_task_factory(asyncio.eager_task_factory)
    await asyncio.gather(leaf(0), branch(), leaf(3))
    await asyncio.create_task(of_generators(), name="eager")
    loop.set_task_factory(None)


async def main():
    await branch()
    await asyncio.gather(branch(1), branch(3), leaf(), of_generators())
    async with asyncio.TaskGroup() as group:
        group.create_task(branch(2), name="same")
        group.create_task(branch(2), name="same")
        group.create_task(renames())
    await drives()
    await asyncio.gather(fails(2), asyncio.wait_for(branch(), 1000), return_exceptions=True)
    await cancelled()
    await one_after_the_other(20)
    await of_derived()
    await eager()


def run():
    with contextlib.suppress(StopIteration):
        driven().send(None)  # in no task, and left there
    asyncio.run(main())


if __name__ == "__main__":
    watch_coroutines()
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run()
    sys.monitoring.set_events(0, 0)
    gc.collect()
    assert not len(numbers), "a task that nobody has is still there"
    with open(sys.argv[1], "w") as file:
        json.dump({"seen": seen, "names": names}, file)
