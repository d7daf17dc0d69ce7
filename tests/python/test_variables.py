# SPDX-License-Identifier: Apache-2.0
"""What the variables of a frame held at a moment, by what a tool in pure Python finds in the frames of the same program."""
import ast
import itertools
import marshal
import random
import re
import subprocess

import kymo
import pytest
from conftest import environment
from hypothesis import HealthCheck, given, settings

from generated_programs import programs
from test_console import Console
from test_values_recording import OBSERVER, PROGRAM, WITH_VALUES

DEEP = """
import random

def fact(n, note):
    result = 1
    if n > 1:
        result = n * fact(n - 1, note)
    for turn in range(3):
        result += turn
    return result

def produce(n):
    for i in range(n):
        got = yield i * 2
        last = (i, got)

def work(rounds):
    total = 0
    for number in range(rounds):
        total += fact(number % 5 + 1, "x" * (number % 7))
        first, second = produce(3), produce(2)
        for each in first:
            total += each
            for other in second:
                total -= other
        try:
            total += check(number)
        except ValueError as error:
            kept = str(error)
        table = {"number": number, "rest": [total % 97, number]}
    return total

def check(number):
    half = number // 2
    if number % 3 == 1:
        raise ValueError(half)
    return half

def ground(n):
    if n:
        return ground(n - 1)
    answer = work(60)
    return answer

ground(150)
"""


def model(value):
    """As observe_values.py has it."""
    if value.is_redacted:
        return "redacted"
    if value.type in ("NoneType", "bool", "int", "float"):
        return value.python
    if value.type == "str":
        return value.length, text_of(value)
    if value.type in ("list", "tuple", "dict"):
        items = [part for item in value.items for part in (item if isinstance(item, tuple) else (item,))]
        return value.type, value.length, [model(item) for item in items]
    return "other"


def text_of(value):
    return ast.literal_eval(value.text.rpartition("…")[0] if value.is_cut else value.text)


class Run:
    """The events of a thread that have values, and the oracle's stack at each."""

    def __init__(self, path, stacks, events):
        self.trace = kymo.open(path)
        self.cursor = self.trace.cursor()
        self.stacks = stacks
        kinds = {event[0] for event in events}.intersection(WITH_VALUES)
        ours = [event for event in self.trace.events(thread=0) if event.event in kinds and not event.k]
        kept = [i for i, event in enumerate(events) if event[0] in {event.event for event in ours}]
        assert [(event.event, event.function) for event in ours] == [events[i][:2] for i in kept]
        self.events, self.stacks = ours, [stacks[i] for i in kept]

    def check(self, at, frame):
        """Hold the variables of @frame at event number @at against the oracle's."""
        self.cursor.seek(self.events[at].n, thread=0)
        function, variables, _ = self.stacks[at][frame]
        assert self.cursor.stack[frame].function == function
        found = {name: model(value) for name, value in self.cursor.variables_of(frame).items()}
        assert found == variables, f"event {self.events[at].n}, frame {frame}: {function}"

    def check_some(self, seed, count):
        chosen = random.Random(seed)
        for at in chosen.sample(range(len(self.events)), min(count, len(self.events))):
            for frame in {0, chosen.randrange(len(self.stacks[at]))}:
                self.check(at, frame)

    def values(self, number, name):
        """The values that a variable had, by the oracle, in the activation @number, without those that were equal to the one before."""
        held = [[self.stacks[at][0][1].get(name, "unbound")] for at in range(len(self.events)) if self.stacks[at][0][2] == number]
        return [key[0] for key, _ in itertools.groupby([["unbound"], *held])][1:]

    def check_history(self, at, frame):
        self.cursor.seek(self.events[at].n, thread=0)
        _, variables, number = self.stacks[at][frame]
        for name in variables:
            told = self.cursor.history(name, frame)
            found = [model(each.value) if each.value else "unbound" for each in told]
            assert [key for key, _ in itertools.groupby(found)] == self.values(number, name), name
            assert [each.n for each in told] == sorted({each.n for each in told})


@pytest.fixture
def observe(python, record, tmp_path):
    """observe(text, scope, *options): a Run."""
    def run(text, scope, *options):
        program, events, stacks = tmp_path / "program.py", tmp_path / "events", tmp_path / "stacks"
        program.write_text(text)
        subprocess.run([python, OBSERVER, events, scope, program, stacks], env=environment(), stdout=subprocess.DEVNULL, timeout=300,
                       check=True)
        trace = record([program], f"--values={scope}", "--include=program.py", *options)
        return Run(trace, marshal.loads(stacks.read_bytes())[0], marshal.loads(events.read_bytes())[0])
    return run


@pytest.mark.parametrize("events", ["flow", "full"])
@pytest.mark.parametrize("scope", ["args", "locals", "globals"])
def test_variables_are_those_of_the_frames(observe, scope, events):
    run = observe(PROGRAM, scope, f"--events={events}")
    for at in range(0, len(run.events), 3):
        for frame in range(len(run.stacks[at])):
            run.check(at, frame)


@pytest.mark.parametrize("events", ["flow", "full"])
@pytest.mark.parametrize("scope", ["args", "locals"])
def test_variables_across_chunks_and_far_down(observe, scope, events):
    """Frames whose last record is chunks away, recursion deeper than a chunk lists, generators side by side, exceptions."""
    run = observe(DEEP, scope, f"--events={events}", "--ring-size=8K", "--values-limits=bytes=512,items=20")
    run.check_some(1, 150)
    at = len(run.events) // 2
    assert len(run.stacks[at]) > 150
    for frame in (0, 1, 2, 100, 145, len(run.stacks[at]) - 1):
        run.check(at, frame)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_variables_of_generated_programs(observe, text):
    for events in "flow", "full":
        observe(text, "locals", f"--events={events}").check_some(7, 25)


@pytest.mark.parametrize("options", [[], ["--ring-size=8K", "--values-limits=bytes=512,items=20"]])
@pytest.mark.parametrize("events", ["flow", "full"])
def test_history_is_every_value(observe, events, options):
    run = observe(DEEP, "locals", f"--events={events}", *options)
    for function in "work", "fact", "produce", "check":
        inside = [at for at, stack in enumerate(run.stacks) if stack[0][0] == function]
        for at in random.Random(3).sample(inside, 4):
            run.check_history(at, 0)
        run.check_history(random.Random(4).choice(inside), 1)


