# SPDX-License-Identifier: Apache-2.0
"""The view of kymo replay on a terminal: what an emulator of one shows is what the commands say in a pipe."""
import os
import re
import select
import termios

import pytest
from conftest import KYMO, environment
from terminal import TIMEOUT, Terminal

pyte = pytest.importorskip("pyte")

PROGRAM = '''"""Orders.

More text."""
PRICES = {"tea": 3, "ginger \\x1b[31m": 4}

def price(order, discount=0.1):
    total = 0  # in cents
    for name, count in order.items():
        total += PRICES[name] * count * 100
        if count > 2:
            total -= int(total * discount)
    return total

print(price({"tea": 1, "ginger \\x1b[31m": 5}), "\\u4e2d\\u4e2d")
'''


class Screen:
    """What somebody sees who types into kymo replay."""

    def __init__(self, trace, rows, columns, **more):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.terminal = Terminal([str(KYMO), "replay", str(trace)], environment(more), b"(kymo) ", size=(rows, columns))
        self.raw = b""
        self.wait()

    def rows(self):
        return [row.rstrip() for row in self.screen.display]

    def row(self):
        return self.rows()[self.screen.cursor.y]

    def read(self):
        assert select.select([self.terminal.fd], [], [], TIMEOUT)[0], self.rows()
        piece = os.read(self.terminal.fd, 65536)
        self.raw += piece
        self.stream.feed(piece)

    def wait(self):
        """Until there is a prompt, and what is typed is taken key by key."""
        while self.row() != "(kymo)":
            self.read()
        while termios.tcgetattr(self.terminal.fd)[3] & termios.ICANON:
            os.sched_yield()

    def type(self, line):
        """What is seen when `line` was run."""
        self.terminal.type(line)
        while self.row() != f"(kymo) {line}":
            self.read()
        self.raw = b""
        self.terminal.type("\n")
        self.read()
        self.wait()
        return self.rows()


@pytest.fixture(scope="module")
def trace(tmp_path_factory, kymo):
    folder = tmp_path_factory.mktemp("view")
    (folder / "program.py").write_text(PROGRAM)
    kymo("record", "-q", "--values=locals", "--include=program.py", "-o", folder / "t.kymo", "program.py", cwd=folder)
    return folder / "t.kymo"


@pytest.fixture
def screen(trace):
    opened = []

    def start(rows=30, columns=120, **more):
        opened.append(Screen(trace, rows, columns, **more))
        return opened[-1]
    yield start
    for each in opened:
        each.terminal.type("quit\n")
        each.terminal.end()
        with each.terminal:
            pass


def in_a_pipe(kymo, trace, *lines):
    return kymo("replay", trace, input="".join(f"{line}\n" for line in lines)).stdout


@pytest.mark.parametrize("size", [(30, 120), (24, 80), (40, 200)])
def test_each_step_shows_its_line_and_variables(size, screen, kymo, trace):
    seen, steps, lines = screen(*size), ["goto start", "step"], PROGRAM.splitlines()
    rows = [seen.type(line) for line in steps][-1]
    for _ in range(12):
        said = in_a_pipe(kymo, trace, *steps, "info locals")
        number = int(re.findall(r"^> .*\((\d+)\)", said, re.M)[-1])
        current = [row for row in rows if re.match(r".\s*\d+ ->", row)]
        assert len(current) == 1 and int(current[0][1:6]) == number
        assert re.split(r" \|(?: |$)", current[0][10:])[0].rstrip() == lines[number - 1]
        variables = dict(re.findall(r"^(\w+|\(this event\)) = (.*?)(?:  \(at the call\))?$", said.split("-> ")[-1].split("\n", 1)[1], re.M))
        shown = dict(re.findall(r"(?:\| |^)  (\w+|\(this event\)) = (.*)$", "\n".join(rows), re.M))
        assert {name: value[:18] for name, value in shown.items()} == {name: value[:18] for name, value in variables.items()}
        rows = seen.type("step")
        steps.append("step")


def test_breakpoints_watches_and_the_selected_frame(screen):
    seen = screen()
    seen.type("goto start")
    seen.type("break program.py:10")
    rows = seen.type("continue")
    assert any(row.startswith("*   10 ->") for row in rows)
    rows = seen.type("watch total")
    assert "Watches" in "".join(rows)
    rows = seen.type("up")
    assert any(row.startswith("    14 ->") for row in rows) and any("| > <module>" in row for row in rows)
    rows = seen.type("disable 1")
    assert any(row.startswith("o   10") for row in rows)


def test_what_does_not_fit_is_shown_alone(screen):
    seen = screen(20, 80)
    rows = seen.type("help")
    assert not any("->" in row for row in rows) and any("leave" in row for row in rows)
    assert any("->" in row for row in seen.type("info tasks"))


def test_the_view_can_be_left(screen):
    seen = screen()
    seen.type("view off")
    rows = seen.type("reverse-step")
    assert any(row.startswith("> /") for row in rows) and not any("Variables" in row for row in rows[-3:])
    assert any("Variables" in row for row in seen.type("view"))


def test_colours_are_for_those_who_want_them(screen):
    colours = rb"\x1b\[[\d;]+m"
    assert re.search(colours, screen().raw)
    assert not re.search(colours, screen(NO_COLOR="1").raw)


def test_names_steer_no_terminal(screen):
    seen = screen()
    rows = seen.type("goto start")
    assert any(r"ginger \x1b[31m" in row for row in rows)
    assert b"ginger \x1b" not in seen.raw
