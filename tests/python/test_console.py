# SPDX-License-Identifier: Apache-2.0
"""kymo replay, the debugger in the terminal: what is typed, and what each command does, by a model that looks at every event."""
import json
import re

import pytest
from conftest import KYMO, ROOT, environment
from replay_model import Thread
from terminal import Terminal

PROGRAM = """\
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)

def check(n):
    if n % 7 == 3:
        raise ValueError(n)
    return n

def main():
    total = 0
    for n in range(12):
        try:
            total += check(n)
        except ValueError:
            total += fib(n % 7 + 3)
    return total

main()
"""


class Console:
    """Commands in a pipe: each one's answer, which ends where the next one's begins."""

    def __init__(self, kymo, trace):
        self.kymo, self.trace = kymo, trace

    def all(self, *lines, options=()):
        return self.kymo("replay", *options, self.trace, input="".join(f"{line}\n" for line in lines), check=False)

    def run(self, *lines, options=()):
        """The answers, the first of them what is shown before any command."""
        done = self.all(*(f"zzz\n{line}" for line in lines), options=options)
        assert (done.returncode, done.stderr) == (1 if lines else 0, "")
        return done.stdout.split("no command 'zzz'; help lists them\n")

    def last(self, *lines, **how):
        return self.run(*lines, **how)[-1]

    def at(self, *lines):
        """Number of the event, function and line that the commands lead to."""
        answer = self.last(*lines, "info")
        event = re.search(r"^event +(\d+)(?:, rebuilt (\d+))?: (\S+)$", answer, re.M)
        line, function = re.findall(r"^> .*\((\d+)\)(\S+)\(\)$", self.all(*lines).stdout, re.M)[-1]
        return (int(event[1]), int(event[2] or 0)), event[3], function, int(line)


@pytest.fixture(scope="module")
def trace(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("console")
    (folder / "program.py").write_text(PROGRAM)
    kymo("record", "-q", "-o", folder / "run.kymo", "--include=program.py", "program.py", cwd=folder)
    return folder / "run.kymo"


@pytest.fixture(scope="module")
def thread(trace, kymo):
    return Thread(json.loads(line) for line in kymo("events", "--jsonl", trace).stdout.splitlines())


@pytest.fixture(scope="module")
def console(kymo, trace):
    return Console(kymo, trace)


def told(thread, at):
    state = thread.states[at]
    return thread.position(at), state.event["event"], state.stack[0][1], state.stack[0][2]


def seek(thread, at):
    """The commands that lead to state `at`.  What was rebuilt before event n comes before it."""
    n = thread.position(at)[0]
    return [f"goto #{n}"] + ["reverse-event"] * (last_of(thread, n) - at)


def last_of(thread, n):
    return max(i for i in range(len(thread.states)) if thread.position(i)[0] == n)


MOVES = [("step", "s", "step_in"), ("next", "n", "step_over"), ("return", "r", "step_out"), ("event", "e", "next_event"),
         ("reverse-step", "rs", "step_in_back"), ("reverse-next", "rn", "step_over_back"),
         ("reverse-return", "rr", "step_out_back"), ("reverse-event", "re", "prev_event")]  # fmt: skip


@pytest.mark.parametrize("name, short, move", MOVES)
def test_moves(name, short, move, console, thread):
    for at in (5, 40, len(thread.states) // 2, len(thread.states) - 9):
        wanted = getattr(thread, move)(at)
        assert console.at(*seek(thread, at)) == told(thread, at)
        assert console.at(*seek(thread, at), name) == told(thread, wanted)
        assert console.at(*seek(thread, at), short) == told(thread, wanted)


def test_moves_are_repeated_by_a_number_and_by_an_empty_line(console, thread):
    at = 3
    for _ in range(3):
        at = thread.step_in(at)
    assert console.at(*seek(thread, 3), "step 3") == told(thread, at)
    assert console.at(*seek(thread, 3), "step 3", "rs 3") == told(thread, thread.step_in_back(thread.step_in_back(
        thread.step_in_back(at))))
    assert console.all("goto start", "step", "", "").stdout == console.all("goto start", "step", "step", "step").stdout
    # What neither moves nor lists is not.
    assert console.all("where", "").stdout == console.all("where").stdout


def test_at_the_ends_a_move_says_so(console, thread):
    last = len(thread.states) - 1
    assert console.at("goto end", "step") == told(thread, last)
    assert console.last("goto end", "step").startswith("--End-- ")
    assert console.at("goto start", "rs") == told(thread, 0)
    assert console.last("goto start", "rs").startswith("--End-- ")
    assert console.at("c") == told(thread, last) and console.at("rc") == told(thread, 0)
    assert console.last("step 99999999999999999999").startswith("--End-- ")


def test_goto(console, thread, kymo):
    last = len(thread.states) - 1
    assert console.at() == console.at("goto end") == told(thread, last)
    assert console.at("goto start") == told(thread, 0)
    assert console.at("goto #20") == told(thread, last_of(thread, 20))
    assert console.at("goto 0%") == told(thread, 0) and console.at("goto 100%") == told(thread, last)
    n = int(thread.states[last].event["n"])
    assert console.at("g 50%")[0][0] == 1 + (n - 1) // 2
    late = thread.states[last].event["t_ns"] / 1e9 + 1
    assert console.at(f"goto {late}s") == console.at(f"goto {late * 1000}ms") == told(thread, last)
    assert console.at("goto 0") == told(thread, 0)
    assert console.run(options=["--at=#20"])[0] == console.last("goto #20")


def test_until_and_jump(console, thread):
    start = next(i for i, state in enumerate(thread.states) if state.event["event"] == "LINE" and state.event["line"] == 14)
    frame = thread.states[start].frames[-1]
    past = thread.first(start, lambda state: state.event["event"] == "LINE" and state.frames[-1] == frame
                        and state.event["line"] >= 17)
    assert console.at(*seek(thread, start), "until 17") == told(thread, past)
    next_line = thread.first(start, lambda state: state.event["event"] == "LINE" and state.frames[-1] == frame
                             and state.event["line"] >= 15)
    assert console.at(*seek(thread, start), "until") == told(thread, next_line)
    runs = [i for i, state in enumerate(thread.states) if state.event["event"] == "LINE" and state.event["line"] == 8]
    assert console.at("goto start", "jump 8") == told(thread, runs[0])
    assert console.at("goto start", "jump 8", "jump 8") == told(thread, runs[1])
    assert console.at("goto end", "jump 8") == told(thread, runs[-1])


def hits_of(thread, wants):
    return [i for i, state in enumerate(thread.states) if wants(state.event)]


BREAKS = [
    ("program.py:3", "program.py:3", lambda e: e["event"] == "LINE" and e["line"] == 3),
    ("fib", "fib()", lambda e: e["event"] == "PY_START" and e["function"] == "fib"),
]


@pytest.mark.parametrize("where, shown, is_hit", BREAKS, ids=["line", "function"])
def test_breaks(where, shown, is_hit, console, thread):
    hits = hits_of(thread, is_hit)
    assert len(hits) > 8
    verb = "ran" if ":" in where else "called"
    assert console.last(f"break {where}") == f"1   {shown}  {verb} {len(hits)} times\n"
    assert console.at("goto start", f"break {where}", "c") == told(thread, hits[0])
    assert console.last("goto start", f"break {where}", "c").startswith("Breakpoint 1\n")
    assert console.at("goto start", f"b {where}", "c 3") == told(thread, hits[0])  # the first one ends the move
    assert console.at("goto start", f"b {where}", "c", "c", "c") == told(thread, hits[2])
    assert console.at(f"b {where}", "rc", "rc") == told(thread, hits[-2])
    assert console.at("goto start", f"b {where}", "ignore 1 4", "c") == told(thread, hits[4])
    assert console.at("goto start", f"b {where} if hits % 3 == 2", "c", "c") == told(thread, hits[4])
    assert console.at("goto start", f"b {where}, hits % 3 == 2", "c", "c") == told(thread, hits[4])
    assert console.at("goto start", f"b {where}", "condition 1 hits > 5", "c") == told(thread, hits[5])
    assert console.at("goto start", f"b {where} if hits > 5", "condition 1", "c") == told(thread, hits[0])
    assert console.at("goto start", f"b {where}", "disable 1", "c") == told(thread, len(thread.states) - 1)
    assert console.at("goto start", f"b {where}", "disable 1", "enable 1", "c") == told(thread, hits[0])
    for delete in ("delete 1", "delete", "clear 1", "d 1"):
        assert console.at("goto start", f"b {where}", delete, "c") == told(thread, len(thread.states) - 1)


def test_the_list_of_breaks(console):
    answer = console.last("b fib if depth > 3", "b program.py:3", "catch ValueError", "catch", "ignore 2 3", "disable 3", "b")
    assert [re.sub(r"(ran|called) \d+", r"\1 #", line) for line in answer.splitlines()] == [
        "1   fib()  called # times, if depth > 3", "2   program.py:3  ran # times, not the first 3",
        "3   exception ValueError, disabled", "4   any exception"]  # fmt: skip
    assert console.last("break") == "no breakpoints\n"


def test_exceptions(console, thread):
    raised = hits_of(thread, lambda e: e["event"] == "RAISE" and e["function"] == "check")
    assert console.at("goto start", "catch ValueError", "c", "c") == told(thread, raised[1])
    assert console.at("goto start", "catch", "c") == told(thread, raised[0])
    assert console.last("goto start", "catch KeyError", "c").startswith("--End-- ")
    assert "--RAISE-- ValueError\n" in console.last("goto start", "catch", "c")


UNCAUGHT = """\
import sys, threading

class Mine(Exception):
    pass

def fails(kind):
    raise kind("x")

def caught(kind):
    try:
        fails(kind)
    except kind:
        pass

def quiet():
    caught(Mine)

def ends():
    caught(KeyError)
    try:
        fails(Mine)
    finally:
        caught(ValueError)

def again():
    try:
        fails(OSError)
    except OSError as error:
        raise RuntimeError from error

def leaves():
    sys.exit(3)

for target in (ends, quiet, again, leaves, ends):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()

def main():
    caught(OSError)
    sum(fails(TypeError) for n in range(3))

main()
"""


@pytest.mark.parametrize("profile", ["flow", "full", "calls"])
def test_what_nothing_catches(kymo, tmp_path, profile):
    """The interpreter prints where each of these was raised, and what it is."""
    (tmp_path / "program.py").write_text(UNCAUGHT)
    done = kymo("record", "-q", f"--events={profile}", "-o", "run.kymo", "program.py", cwd=tmp_path, check=False)
    printed = []
    for traceback in done.stderr.split("Traceback (most recent call last):\n")[1:]:
        *_, (line, function) = re.findall(r"^  File \".*program.py\", line (\d+), in (\w+)$", traceback, re.M)
        printed.append((int(line), function, re.search(r"^(?:.*\.)?(\w+): x$|^(\w+)$", traceback, re.M).expand(r"\1\2")))
    raised = [(7, "fails", "Mine"), (7, "fails", "OSError"), (29, "again", "RuntimeError"), (7, "fails", "Mine"),
              (7, "fails", "TypeError")]
    assert printed == raised  # of the second, the cause is printed, too
    del raised[1]
    console = Console(kymo, tmp_path / "run.kymo")
    assert console.last("catch uncaught") == "1   uncaught exceptions  raised 4 times\n"
    assert console.last("catch uncaught Mine") == "1   uncaught Mine  raised 2 times\n"
    assert console.last("catch uncaught SystemExit") == "1   uncaught SystemExit  raised 1 time\n"
    place = r"--RAISE-- (\w+)\n> .*\((\d+)\)(\w+)\(\)"
    ways = {"c": ["goto start"], "rc": ["thread 1", "goto 100%"]}
    for command, begin in ways.items():
        told = "".join(console.run(*begin, "catch uncaught", *[command] * 6)[len(begin) + 1:])
        met = [(int(line), function, kind) for kind, line, function in re.findall("Breakpoint 1\n(?:\\[.*\n)?" + place, told)]
        assert met == (raised if command == "c" else raised[::-1])


def test_what_is_never_hit_says_why(console):
    assert "no line of such a file ran" in console.last("b nowhere.py:3")
    assert "no function of this name" in console.last("b nothing")
    assert re.search(r"no code on this line; the nearest line that ran is [46]$", console.last("b program.py:5"), re.M)
    assert "the nearest line that ran is 20\n" in console.last("b program.py:99999999999")


def test_hits(console, thread):
    hits = hits_of(thread, lambda e: e["event"] == "PY_START" and e["function"] == "fib")
    answer = console.last("hits fib").splitlines()
    assert answer[0].startswith(f"called {len(hits)} in all, {len(hits)} in ")
    numbers = [int(re.search(r"event (\d+)$", line)[1]) for line in answer[1:] if "event" in line]
    shown = hits[:10] + ([hits[-1]] if len(hits) > 10 else [])
    assert numbers == [thread.position(i)[0] for i in shown]
    assert console.at("hits fib 7") == told(thread, hits[6])
    lines = hits_of(thread, lambda e: e["event"] == "LINE" and e["line"] == 15)
    assert console.at("hits program.py:15 4") == told(thread, lines[3])
    assert console.last("hits program.py:15 4", "hits").startswith(f"ran {len(lines)} in all")


def test_stack(console, thread):
    at = max(range(len(thread.states)), key=lambda i: len(thread.states[i].stack))
    stack = thread.states[at].stack
    answer = console.last(*seek(thread, at), "where")
    frames = re.findall(r"^([> ]) .*program\.py\((\d+)\)(\S+)\(\)$", answer, re.M)
    assert [(function, int(line)) for _, line, function in frames] == [frame[1:] for frame in reversed(stack)]
    assert [mark for mark, *_ in frames] == [" "] * (len(stack) - 1) + [">"]
    assert re.search(r"\)(\S+)\(\)$", console.last(*seek(thread, at), "up 2"), re.M)[1] == stack[2][1]
    assert f"({stack[1][2]})" in console.last(*seek(thread, at), "up", "up", "down")
    assert f"({stack[-1][2]})" in console.last(*seek(thread, at), "up 1000")
    assert console.last(*seek(thread, at), "up 1000", "w").startswith("> ")
    # `list` and `break LINE` are of the frame that is selected.
    assert f"{stack[-1][2]:5} ->" in console.last(*seek(thread, at), "up 1000", "list")


def test_list(console):
    source = [f"{number:5}    {line}" for number, line in enumerate(PROGRAM.splitlines(), 1)]
    shown = console.last("list 2,4").splitlines()
    assert shown == source[1:4]
    assert console.last("list 2").splitlines() == source[1:12]
    assert console.last("list 2,4", "list").splitlines() == source[4:15]
    assert console.all("list 2,4", "").stdout.splitlines()[3:] == source[1:15]
    assert console.last("goto start", "s", "l").splitlines()[0] == "    1 -> def fib(n):"


def test_info_and_threads(console, thread):
    answer = console.last("goto #20", "info")
    assert f"depth    {len(thread.states[last_of(thread, 20)].stack)}\n" in answer and "exited with status 0" in answer
    assert re.fullmatch(r"\* 1  thread 1 'MainThread'  .*program\.py\(\d+\)\S+\(\)\n", console.last("goto #20", "threads"))
    assert console.at("goto #20", "thread 1") == told(thread, last_of(thread, 20))


def test_help_names_every_command(console, kymo):
    table = re.findall(r"^  (\S+) .*$", console.last("help"), re.M)
    assert {"step", "reverse-continue", "quit", "jump"} <= set(table)
    assert kymo("replay", "--help").stdout.endswith(console.last("help"))
    for name in table:
        assert console.last(f"help {name}").startswith(f"{name} ")


def test_every_command_is_on_the_manual_page(console):
    page = (ROOT / "docs/man/kymo-replay.1").read_text()
    section = page[page.index(".Sh COMMANDS"):page.index(".Sh FILES")]
    words = set(re.findall(r"[a-z-]+", "\n".join(re.findall(r"^\.It Cm (.*)$", section, re.M))))
    assert set(re.findall(r"^  (\S+) .*$", console.last("help"), re.M)) <= words


WRONG = [
    ("zebra", "no command 'zebra'; help lists them"), ("rev", "'rev' is the beginning of several commands; help lists them"),
    ("step x", "'x' is not a number"), ("step -1", "'-1' is not a number"), ("until x", "until: 'x' is not a line number"),
    ("jump", "jump: write jump LINE"), ("jump 99", "this line did not run in this thread"), ("help zebra", "no command"),
    ("goto", "goto: a time"), ("goto nowhere", "goto: 'nowhere' is not a time"), ("goto #x", "goto: '#x' is not a time"),
    ("break fib if (", "condition '(': "), ("break fib if 1) from hit; drop table x --", "condition '1) "),
    ("break two words", "'two words' is not FILE:LINE, LINE or FUNCTION"), ("condition", "which breakpoint?"),
    ("condition 7", "no breakpoint '7'"), ("ignore x", "no breakpoint 'x'"), ("delete 1", "no breakpoint '1'"),
    ("enable 1", "no breakpoint '1'"), ("disable", "which breakpoint?"), ("hits fib x", "hits: 'x' is not a number"),
    ("hits fib 99999", "hits: no hit 99999; this thread has "), ("up x", "'x' is not a number"),
    ("up 5", "this is the outermost frame"), ("down", "this is the innermost frame"), ("list x", "list: 'x' is not a line number"),
    ("list 3,x", "list: 'x' is not a line number"), ("list 0", "list: '0' is not a line number"), ("list 5,2", "list: the last line is before"),
    ("list 18446744073709551615", "list: '18446744073709551615' is not a line number"), ("list 1000", "[end of file]"),
    ("thread", "no thread ''"), ("thread 9", "no thread '9'"), ("next-switch x", "'x' is not a number"),
]  # fmt: skip


@pytest.mark.parametrize("line, answer", WRONG, ids=[line for line, _ in WRONG])
def test_what_is_wrong_is_told_in_one_line(line, answer, console):
    assert console.all(line).returncode == 1
    told = console.last(line)
    assert told.startswith(answer) and told.count("\n") == 1
    # It does not end the session, and nothing has moved.
    assert console.at(line) == console.at()


def test_a_comment_and_a_quit(console):
    assert console.last("# nothing") == ""
    done = console.all("quit", "zebra")
    assert "zebra" not in done.stdout and done.returncode == 0


def test_control_characters_are_escaped(kymo, record):
    name = "f_\\x1b[31m"
    program = f"""
import sys
exec(compile("def f():\\n    return '\\x1b[2J'\\n", "evil\\x1b]0;x\\x07.py", "exec"))
f.__code__ = f.__code__.replace(co_name="{name}", co_qualname="{name}")
f()
raise type("E\\x1b[5m", (Exception,), {{}})
"""
    trace = record(program, status=1)
    commands = "break\ninfo\nthreads\nwhere\ncatch\nrc\nhits nothing\nb 'x\\x1b:3\nlist 1,4\nrs 3\nwhere\nlist\nxx\x1b[1m\n"
    done = kymo("replay", trace, input=commands, check=False)
    assert "\\x1b" in done.stdout
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", done.stdout)


@pytest.fixture
def terminal(trace):
    words = [str(KYMO), "replay", str(trace)]
    with Terminal(words, environment(), b"(kymo) ") as opened:
        opened.first = opened.answer()
        yield opened


def test_the_terminal_answers_as_a_pipe(terminal, console):
    lines = ["goto start", "step", "where", "zebra", "info"]
    assert terminal.first == console.run()[0]
    assert [terminal.ask(line) for line in lines] == console.run(*lines)[1:]
    terminal.type("quit\n")
    assert terminal.end() == "quit\n" and terminal.status == 0


def test_ctrl_d_leaves(terminal):
    terminal.ask("zebra")
    terminal.type("\x04")
    assert terminal.end().endswith("\n")
    assert terminal.status == 0  # who sits there has seen what failed


def test_an_empty_line_repeats_in_the_terminal(terminal, console):
    terminal.ask("goto start")
    terminal.ask("step")
    assert terminal.ask("") == console.last("goto start", "step", "step")


def test_arrows_bring_lines_back(terminal, console):
    terminal.ask("goto start")
    terminal.ask("step")
    terminal.ask("info")
    terminal.type("\x1b[A\x1b[A")
    terminal.read(rb"step$")
    terminal.type("\n")
    assert terminal.answer().endswith(console.last("goto start", "step", "step"))


def test_tab_completes_commands_functions_and_files(terminal, console, thread):
    terminal.type("reverse-r\t")
    terminal.read(rb"reverse-return $")
    terminal.type("\n")
    terminal.answer()
    terminal.type("break ch\t")
    terminal.read(rb"break check $")
    terminal.type("\n")
    assert re.search(r"1   check\(\)  called 12 times", terminal.answer())
    terminal.type("break <m\t")
    terminal.read(rb"break <module> $")
    terminal.type("\x03")
    terminal.answer()
    terminal.type("break p\t")
    terminal.read(rb"break program\.py $")
    terminal.type("\x08:3\n")
    assert "program.py:3  ran " in terminal.answer()
    terminal.type("reverse-\t\t")
    shown = terminal.read(rb"(?s)reverse-switch.*reverse-$")
    assert {"reverse-step", "reverse-next", "reverse-event"} <= set(shown.split())
    # A file of the folder that it runs in is no name here.
    terminal.type("\x15break pyproj\t!")
    assert terminal.read(rb"!").rstrip().endswith("pyproj!")


def test_ctrl_c_cancels_the_line(terminal, console):
    terminal.type("zebr")
    terminal.read(rb"zebr$")
    terminal.type("\x03")
    assert terminal.answer() == "\n"
    assert terminal.ask("goto start") == console.last("goto start")


def test_ctrl_c_ends_a_long_search(kymo, tmp_path):
    """The replay stands where it stood."""
    (tmp_path / "long.py").write_text("def f(n):\n    return n\n\nfor n in range(300000):\n    f(n)\n")
    kymo("record", "-q", "-o", tmp_path / "run.kymo", "--include=long.py", "long.py", cwd=tmp_path)
    kymo("index", tmp_path / "run.kymo")
    with Terminal([str(KYMO), "replay", str(tmp_path / "run.kymo")], environment(), b"(kymo) ") as terminal:
        terminal.answer()
        here = terminal.ask("hits long.py:4 50")
        for move in ("continue", "rc", "step 99999999", "until 99"):
            if move == "rc":
                terminal.ask("goto end")
            # A condition that takes long and never holds.
            terminal.ask("delete")
            slow = "length(replace(hex(zeroblob(400000)), '00', '1')) = 0"
            assert slow in terminal.ask(f"break f if {slow}")
            terminal.run(move)
            terminal.type("\x03")
            told = terminal.answer().replace("^C", "")
            assert told.startswith("interrupted\n"), (move, told)
            assert terminal.ask("hits long.py:4 50") == here
        # It is not the next command that ends.
        assert "interrupted" not in terminal.ask("step")


def test_hits_in_a_file_whose_name_has_spaces(kymo, tmp_path):
    (tmp_path / "my file.py").write_text("for n in range(5):\n    n += 1\n")
    kymo("record", "-q", "-o", "run.kymo", "--include=my file.py", "my file.py", cwd=tmp_path)
    console = Console(kymo, tmp_path / "run.kymo")
    counted = console.last("hits my file.py:2")
    assert counted.startswith("ran 5 in all, 5 in ")
    third = int(counted.splitlines()[3].split()[-1])
    for command in ("hits my file.py:2 3", "hits  my file.py:2  \t3"):
        (event, _), kind, *place = console.at(command)
        assert (event, kind, place) == (third, "LINE", ["<module>", 2])
    assert console.last("hits my file.py:2 6").startswith("hits: no hit 6")
    assert console.last("hits other file.py:2") == "    no line of such a file ran while this was recorded\n"
