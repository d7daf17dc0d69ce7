# SPDX-License-Identifier: Apache-2.0
"""`tasks` in kymo replay: which tasks run, wait and have ended, as asyncio itself says it in the same run."""
import json
import re

import pytest

PROGRAM = '''
import asyncio, json, sys, kymo

tasks, told = {}, []

def look():
    """What every task does now; a mark says where in the recording that was."""
    current, states = asyncio.current_task(), {}
    for name, task in tasks.items():
        if task.done():
            error = None if task.cancelled() else task.exception()
            states[name] = ["raised CancelledError" if task.cancelled() else f"raised {type(error).__name__}" if error else "returned"]
        elif task is current:
            states[name] = ["runs"]
        else:
            chain, coroutine = [], task.get_coro()
            while kind := {"coroutine": "cr", "generator": "gi"}.get(type(coroutine).__name__):
                frame = getattr(coroutine, f"{kind}_frame")
                chain.append([frame.f_code.co_qualname, frame.f_lineno])
                coroutine = getattr(coroutine, "cr_await" if kind == "cr" else "gi_yieldfrom")
            states[name] = ["waits", *chain]
    kymo.mark(f"look {len(told)}")
    told.append({"current": current.get_name(), "states": states})

def start(coroutine, name):
    tasks[name] = asyncio.create_task(coroutine, name=name)
    return tasks[name]

async def numbers(queue):
    while True:
        number = await queue.get()
        if number is None:
            return
        yield number

async def consume(queue):
    total = 0
    async for number in numbers(queue):
        await asyncio.sleep(0)
        look()
        total += number
    return total

async def inner(event):
    await event.wait()
    look()
    raise KeyError("planted")

async def fail(event):
    await inner(event)

async def forever():
    try:
        await asyncio.sleep(1000)
    finally:
        look()

async def main():
    tasks["main"] = asyncio.current_task()
    asyncio.current_task().set_name("main")
    queue, event = asyncio.Queue(), asyncio.Event()
    start(consume(queue), "consume")
    start(fail(event), "fail")
    start(forever(), "forever")
    await asyncio.sleep(0)
    look()
    for number in range(3):
        await queue.put(number)
        await asyncio.sleep(0)
        look()
    event.set()
    await asyncio.sleep(0)
    tasks["forever"].cancel()
    await queue.put(None)
    await asyncio.gather(*(task for name, task in tasks.items() if name != "main"), return_exceptions=True)
    look()

asyncio.run(main())
json.dump(told, open(sys.argv[1], "w"))
'''


def shown(answer):
    """What `tasks` says: states by name, and who runs."""
    states, current = {}, None
    for line in answer.splitlines():
        mark, name, state, frames = re.fullmatch(r"([* ]) \d+ '(.*)'  (raised \w+|\w+)  (.*)", line).groups()
        chain = [[function, int(number)] for number, function in re.findall(r"\((\d+)\)([\w.<>]+)\(\)", frames)]
        states[name] = [state, *(chain if state == "waits" else [])]
        current = name if mark == "*" else current
    return {"current": current, "states": states}


@pytest.mark.parametrize("profile", ["flow", "calls", "full"])
def test_tasks_are_where_asyncio_says(profile, record, kymo, importing, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    trace = record([program, tmp_path / "told.json"], f"--events={profile}", env=importing)
    told = json.loads((tmp_path / "told.json").read_text())
    commands = "".join(f"zzz\ngoto look {n}\nzzz\ntasks\n" for n in range(len(told)))
    done = kymo("replay", trace, input=commands, check=False)
    answers = done.stdout.split("no command 'zzz'; help lists them\n")[2::2]
    assert len(told) > 8 and {state for each in told for state, *_ in each["states"].values()} >= {
        "runs", "waits", "returned", "raised KeyError", "raised CancelledError"}
    for each, answer in zip(told, answers, strict=True):
        seen = shown(answer)
        states = dict(each["states"])
        if each is told[0]:  # some have not begun
            states = {name: states[name] for name in seen["states"]}
        if states["consume"][-1][0] == "consume":  # what an asynchronous generator awaits asyncio does not know
            del seen["states"]["consume"][2:]
        assert seen == {"current": each["current"], "states": states}


def test_info_names_the_task_of_a_coroutine(record, kymo):
    trace = record("""
import asyncio
def work():
    return 1
async def step():
    work()
async def main():
    await asyncio.create_task(step(), name="the step")
asyncio.run(main())
work()
""")
    done = kymo("replay", trace, input="goto start\nbreak work\ncontinue\ninfo\ncontinue\ninfo\n")
    assert re.findall(r"^task +(.*)$", done.stdout, re.M) == ["2 'the step'"]


def test_without_tasks(record, kymo):
    trace = record("print(1)")
    done = kymo("replay", trace, input="tasks\n", check=False)
    assert "no asyncio task has run in this thread up to here\n" in done.stdout
