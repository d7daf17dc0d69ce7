# SPDX-License-Identifier: Apache-2.0
"""What the variables of a frame held at a moment, by what a tool in pure Python finds in the frames of the same program."""
import ast
import itertools
import marshal
import random
import re
import subprocess

import kymo as api
import pytest
from conftest import KYMO, environment
from hypothesis import HealthCheck, given, settings

import value_decoder
from generated_programs import programs
from streams import first_difference
from terminal import Terminal
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
    if value.type == "int" and value.is_cut:
        return "other"
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
        self.trace = api.open(path)
        self.cursor = self.trace.cursor()
        self.stacks = stacks
        kinds = {event[0] for event in events}.intersection(WITH_VALUES)
        ours = [event for event in self.trace.events(thread=0) if event.event in kinds and not event.k]
        kept = [i for i, event in enumerate(events) if event[0] in {event.event for event in ours}]
        assert not first_difference([(event.event, event.function) for event in ours], [tuple(events[i][:2]) for i in kept])
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
    run.check_some(1, 100)
    at = len(run.events) // 2
    assert len(run.stacks[at]) > 150
    for frame in (0, 1, 2, 100, 145, len(run.stacks[at]) - 1):
        run.check(at, frame)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
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
        for at in random.Random(3).sample(inside, 2):
            run.check_history(at, 0)
        run.check_history(random.Random(4).choice(inside), 1)


GAPS = """
import kymo

def add(a, b):
    c = a + b
    return c

def halves(n):
    for i in range(n):
        part = n // 2
        yield part

def work(n):
    total, kept = 0, []
    for i in range(n):
        if i % 3 == 1:
            kymo.begin_segment()
        total = add(total, i)
        inner = list(halves(3))
        if i % 3 == 1:
            kymo.end_segment(keep=False)
        kept.append(i)
    return total

work(12)
"""


def test_what_a_gap_hides_is_not_told(record, importing):
    """By a decoder that knows nothing of chunks but that each is decoded alone."""
    path = record(GAPS, "--values=locals", "--events=calls,LINE", "--include=program-*.py", env=importing)
    decoder, = value_decoder.threads(path)
    trace = api.open(path)
    events, cursor = list(trace.events()), trace.cursor()
    assert [event.event for event in events] == [event[0] for event in decoder.events]
    gaps = lost = 0
    for event, (kind, *_, variables) in zip(events, decoder.events):
        cursor.seek(event.n)
        gaps += kind == "GAP"
        if kind in WITH_VALUES:
            found = {name: model(value) for name, value in cursor.variables.items()}
            assert found == variables, event.n
        lost += any(not cursor.variables_of(frame) for frame in range(1, len(cursor.stack)))
    assert gaps == 4 and lost > 20


def test_after_a_gap_it_says_so(record, kymo, importing):
    path = record(GAPS, "--values=locals", "--events=calls,LINE", "--include=program-*.py", env=importing)
    gap = list(api.open(path).events(kinds="GAP"))[1]
    lines = [event.n for event in api.open(path).events(kinds="LINE") if event.function == "work"]
    before, after = max(n for n in lines if n < gap.n), min(n for n in lines if n > gap.n)
    console = Console(kymo, path)
    assert console.last(f"goto #{after}", "print total").strip().isdigit()
    assert "(events are missing before)" in console.last(f"goto #{after}", "history total")
    assert "(events are missing from here on)" in console.last(f"goto #{before}", "history total")
    answers = console.run(f"goto #{before - 1}", "watch total", "continue", "continue")
    assert "no change; events are missing here, and what it held then is not known" in "".join(answers)


@pytest.fixture(scope="module")
def order(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("order")
    (folder / "order.py").write_text(ORDER)
    kymo("record", "-q", "-o", folder / "run.kymo", "--include=order.py", "--values=locals", "--values-limits=depth=3", "order.py",
         cwd=folder)
    kymo("record", "-q", "-o", folder / "args.kymo", "--include=order.py", "--values=args", "order.py", cwd=folder)
    kymo("record", "-q", "-o", folder / "plain.kymo", "--include=order.py", "order.py", cwd=folder)
    return {name: Console(kymo, folder / f"{name}.kymo") for name in ("run", "args", "plain")}


ORDER = """\
import enum

class Color(enum.Enum):
    RED = 1

class Order:
    def __init__(self, number, items):
        self.number = number
        self.items = items
        self.itself = self

def price(order, password="no", *rest, **more):
    total = 0
    for name, cost in order.items.items():
        total += cost
    order.number += 1
    del name
    return total

def walk(values):
    seen = {}
    for value in values:
        seen.setdefault(value, len(seen))
    return seen

def main():
    big = list(range(50))
    text = "a" * 300
    nested = {"tea": [1, (2, 3)], 7: "seven", "it's": None, -1: 2.5}
    color, span, nothing = Color.RED, range(2, 9, 3), None
    try:
        raise KeyError("gone") from ValueError(4)
    except KeyError as error:
        problem = error
    order = Order(7, {"tea": 4.5, "cup": 12})
    price(order, "secret", 1, 2, three=3)
    walk("abcab")
    return big

main()
"""


@pytest.mark.parametrize("expression, answer", [
    ("nothing", "None"),
    ("nested", "{'tea': [1, (2, 3)], 7: 'seven', \"it's\": None, -1: 2.5}"),
    ('nested["tea"][1][0]', "2"),
    ("nested['tea'][-1]", "(2, 3)"),
    ("nested[7]", "'seven'"),
    ("nested[ -1 ]", "2.5"),
    ("nested['it\\'s']", "None"),
    ("nested['\\x74ea'] [0]", "1"),
    ("span.stop", "9"),
    ("color", "Color.RED"),
    ("color.value", "1"),
    ("problem.args[0]", "'gone'"),
    ("problem.__cause__.args[0]", "4"),
    ("order.items['cup']", "12"),
    ("order.itself.itself.number", "8"),
    ("order['number']", "8"),
    ("order['price']", "order has no ['price']"),
    ("big[19]", "19"),
    ("big[20]", "big has no [20] that was recorded: it is cut, 20 of 50 items were"),
    ("big[50]", "big has no [50] that was recorded: it is cut, 20 of 50 items were"),
    ("big", f"{str(list(range(20)))[:-1]}, …+30]  (cut: 20 of 50 items were recorded)"),
    ("text", f"'{'a' * 200}'…+100  (cut: 200 of 300 characters were recorded)"),
    ("nested['coffee']", "nested has no ['coffee']"),
    ("nested['tea'][9]", "nested['tea'] has no [9]"),
    ("nested['tea']['x']", "nested['tea'] has no ['x']"),
    ("nothing.x", "nothing has no .x"),
    ("order.price", "order has no .price"),
    ("missing", "this frame has no variable missing that was recorded"),
    ("missing[", "'missing[': an attribute, .x, or an item, [0] or [\"key\"], is wanted at '['"),
    ("nested.", "'nested.': an attribute, .x, or an item, [0] or [\"key\"], is wanted at '.'"),
    ("nested[tea]", "'nested[tea]': an attribute, .x, or an item, [0] or [\"key\"], is wanted at '[tea]'"),
    ("nested['tea'", "'nested['tea'': an attribute, .x, or an item, [0] or [\"key\"], is wanted at '['tea''"),
    ("nested['\\x7']", "'nested['\\x7']': an attribute, .x, or an item, [0] or [\"key\"], is wanted at '['\\x7']'"),
    ("nested['\\", "'nested['\\': an attribute, .x, or an item, [0] or [\"key\"], is wanted at '['\\'"),
    ("nested[99999999999999999999]",
     "'nested[99999999999999999999]': an attribute, .x, or an item, [0] or [\"key\"], is wanted at '[99999999999999999999]'"),
    ("str(nested)", "'str(nested)': nothing can be called but len() at '(nested)'"),
    ("1 + 1", "2"),
    ("", "print: a variable, as x, order.items[0] or d[\"key\"], or an expression, as n == 5"),
])  # fmt: skip
def test_print(order, expression, answer):
    assert order["run"].last("goto start", "break order.py:37", "continue", f"print {expression}") == answer + "\n"


def test_print_of_what_was_not_recorded(order):
    at = ["goto start", "break price", "continue", "return"]
    assert order["run"].last(*at, "p password") == "<redacted>\n"
    assert order["run"].last(*at, "p name") == "name has no value here\n"
    assert order["run"].last(*at, "p password.x") == "password was redacted\n"
    assert order["args"].last(*at, "p password") == "<redacted>  (at the call)\n"
    assert order["args"].last(*at, "p rest") == "(1, 2)  (at the call)\n"
    assert order["args"].last(*at[:3], "p rest") == "(1, 2)\n"
    assert order["args"].last(*at, "p total") == "total was not recorded: --values and --values-for left it out\n"
    assert order["plain"].last(*at, "p total") == \
        "total was not recorded: the recording has no values; kymo record --values records them\n"
    assert order["plain"].last(*at, "info locals") == \
        "variables were not recorded: the recording has no values; kymo record --values records them\n"


def test_info_locals_and_args(order):
    at = ["goto start", "break price", "continue", "return"]
    arguments = "password = <redacted>\nrest = (1, 2)\nmore = {'three': 3}\n"
    assert re.sub(r"order = <Order.*>\n", "", order["run"].last(*at, "info args")) == arguments
    assert order["run"].last(*at, "args") == order["run"].last(*at, "info args") == order["run"].last(*at, "a")
    found = order["run"].last(*at, "info locals")
    assert found == order["run"].last(*at, "locals")
    assert re.sub(r"order = <Order.*>\n", "", found) == arguments + "total = 16.5\ncost = 12\n(this event) = 16.5\n"
    assert "\nrest = (1, 2)  (at the call)\n" in order["args"].last(*at, "info locals")
    untold = "total: not recorded\nname: not recorded\ncost: not recorded\n"
    assert order["args"].last(*at, "info locals").endswith(untold + "(this event) = 16.5\n")
    assert "big = [0, 1, 2" in order["run"].last(*at, "up", "info locals")
    assert order["run"].last("goto start", "info args") == "no arguments\n"
    assert order["run"].last("info zebra") == "info: nothing, locals or args\n"


def test_history_in_the_console(order):
    at = ["goto start", "break order.py:15", "continue", "continue"]
    told = order["run"].last(*at, "history total").splitlines()
    assert [re.fullmatch(r"(->|  ) line (\d+) +#\d+ +[\d.]+ s  (.*)", line).groups() for line in told] == \
        [("  ", "14", "0"), ("->", "14", "4.5"), ("  ", "14", "16.5")]
    told = order["run"].last(*at, "history order.number").splitlines()
    assert [line.split()[-1] for line in told] == ["7", "8"]
    assert order["run"].last("history") == "history: a variable, as x or order.items[0]\n"
    assert order["run"].last(*at, "history zebra") == "this frame has no variable zebra that was recorded\n"


def test_watch(order):
    """Forwards and backwards, it stops where the history says that it changed, and where the frame begins and ends."""
    console, at = order["run"], ["goto start", "break walk", "continue", "delete", "step 3"]
    events = [int(n) for n in re.findall(r"#(\d+)", console.last(*at, "history seen"))]
    assert len(events) == 4  # empty, and with each letter once
    assert console.last(*at, "watch seen") == "Watchpoint 2: seen in this call of walk()\n"
    assert [console.at(*at, "watch seen", *["rc"] * 3, *["c"] * count)[0][0] for count in (1, 2, 3)] == events[:3]
    back = [console.at(*at, "watch seen", *["c"] * 9, *["rc"] * count)[0][0] for count in (1, 2, 3, 4)]
    assert back == events[::-1]
    stop = console.last(*at, "watch seen['b']", "c", "c")
    assert stop.startswith("Watchpoint 2: seen['b']: no change; here its frame is left\n--Return--\n")
    stop = console.last(*at, "watch seen['b']", "c")
    assert stop.startswith("Watchpoint 2: seen['b']\n  old: seen has no ['b']\n  new: 1\n> ")
    stop = console.last(*at, "watch seen", "rc", "rc")
    assert stop.startswith("Watchpoint 2: seen: no change; here its frame begins\n--Call--\n")
    assert console.last(*at, "watch seen", "watch").startswith("2   watch seen in walk() entered at #")
    assert console.last(*at, "watch seen", "delete 2", "watch") == "no watchpoints\n"
    assert "--End--" in console.last(*at, "watch seen", "delete 2", "c")
    assert console.last(*at, "watch") == "no watchpoints\n"
    # The last event of the thread leaves the module.
    assert "Watchpoint 1: main: no change; here its frame is left\n--Return--" in "".join(console.run("goto end", "rn", "watch main", "c"))
    assert order["plain"].last("watch x").startswith("this frame has no variable") or "was not recorded" in order["plain"].last("watch x")


def test_watch_and_breakpoints(order):
    """What comes first counts; at the same place, both are told."""
    console, at = order["run"], ["goto start", "break walk", "continue", "step 2", "watch seen"]
    assert "Breakpoint 3" in console.last(*at, "break order.py:23", "continue")
    both = console.last(*at, "break order.py:22", "continue")
    assert both.startswith("Breakpoint 3\nWatchpoint 2: seen\n  old: {}\n  new: {'a': 0}\n")


def test_a_watch_across_chunks(record, kymo):
    program = """
def work(rounds):
    steps, turn = 0, 0
    for i in range(rounds):
        if i % 500 == 7:
            steps += 1
        turn = idle(i)
    return steps

def idle(n):
    m = n * 2
    return m

work(3000)
"""
    path = record(program, "--values=locals", "--include=program-*.py", "--ring-size=8K", "--values-limits=bytes=512")
    console = Console(kymo, path)
    at = ["goto start", "break work", "continue", "delete", "next 2"]
    events = [int(n) for n in re.findall(r"#(\d+)", console.last(*at, "history steps"))]
    assert len(events) == 7
    answers = console.run(*at, "watch steps", "rc", *["c", "info"] * 8, *["rc", "info"] * 8)
    found = [int(n) for n in re.findall(r"^event +(\d+)", "".join(answers), re.M)]
    assert found[:7] == events and found[8:15] == events[::-1]


@pytest.mark.parametrize("profile", ["flow", "calls"])
def test_frames_whose_caller_only_calls(profile, record, kymo, events):
    """Where one call ends and the next begins, nothing is recorded of who calls them."""
    program = "def g(n): return n\ndef f(number, count):\n    for k in range(count): g(k)\n" + "".join(
        f"f({n}, {n % 3 * 300 + 9})\n" for n in range(60))
    path = record(program, f"--events={profile}", "--values=args", "--values-for=f", "--include=program-*.py", "--ring-size=8K",
                  "--values-limits=bytes=512")
    told = events(path, "--function=f", "--kind=PY_START,PY_RETURN")
    console, cursor = Console(kymo, path), api.open(path).cursor()
    assert len(told) == 120 and api.open(path).threads[0]["chunks"] > 4
    for number, (start, end) in enumerate(zip(told[::2], told[1::2])):
        cursor.seek((start["n"] + end["n"]) // 2)
        frame = [frame.function for frame in cursor.stack].index("f")
        assert cursor.variables_of(frame)["number"].python == number
        if number % 9 == 2:
            # The end of the call is found as well.
            answer = console.run(f"goto #{(start['n'] + end['n']) // 2}", *["up"] * frame, "watch number", "c", "info")[-1]
            assert re.search(r"^event +(\d+)", answer, re.M)[1] == str(end["n"])


def test_tab_completes_variables(order):
    words = [str(KYMO), "replay", "--at=start", str(order["run"].trace)]
    with Terminal(words, environment(), b"(kymo) ") as terminal:
        terminal.answer()
        terminal.ask("break price")
        terminal.ask("continue")
        for typed, whole in (("p pas", "p password "), ("watch or", "watch order "), ("info lo", "info locals ")):
            terminal.type(f"{typed}\t")
            terminal.read(re.escape(whole).encode() + b"$")
            terminal.type("\x03")
            terminal.answer()
        terminal.type("quit\n")
        terminal.end()


def test_a_watch_goes_on_in_what_is_written_later(kymo, tmp_path):
    (tmp_path / "program.py").write_text("""\
import os, sys

def work():
    total = 0
    print(os.getpid(), flush=True)
    for line in sys.stdin:
        total += int(line)
        print(total, flush=True)
    return total

work()
""")
    process = subprocess.Popen([KYMO, "record", "-q", "-o", "run.kymo", "--include=program.py", "--values=locals", "program.py"],
                               cwd=tmp_path, env=environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = int(process.stdout.readline())

    def add(number, total):
        process.stdin.write(f"{number}\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{total}\n"
        kymo("snapshot", pid)

    try:
        add(3, 3)
        words = [str(KYMO), "replay", "--follow", "--at=start", str(tmp_path / "run.kymo.incomplete")]
        with Terminal(words, environment(), b"(kymo) ") as terminal:
            terminal.answer()
            terminal.ask("break work")
            terminal.ask("continue")
            assert terminal.ask("watch total").startswith("Watchpoint 2: total in this call of work()")
            terminal.ask("delete 1")
            for number, total in (4, 7), (5, 12):
                add(number, total)
            seen = "".join(terminal.ask("continue") for _ in range(3))
            assert re.findall(r"new: (\d+)", seen) == ["0", "3", "7"]
            terminal.type("quit\n")
            terminal.end()
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()
