# SPDX-License-Identifier: Apache-2.0
"""The pictures of README.md, made of real runs: `./dev pictures` starts this.

    make.py KYMO PYTHON FOLDER

A terminal of its own runs `kymo replay`; what is on its screen becomes a page, and headless Chromium makes pictures of
that and of the pages that `kymo report` and `kymo diff` write.
"""

import html
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

import pyte

COLUMNS, ROWS = 104, 34
COMMANDS = ["up", "watch cost", "reverse-continue", "history cost"]
COLORS = {
    "black": "#2e3436", "red": "#ef5350", "green": "#7cc36e", "brown": "#d9a441", "blue": "#6a9fd8",
    "magenta": "#b58ad0", "cyan": "#4fb8b8", "white": "#d3d7cf", "default": "#d3d7cf",
    "brightblack": "#8a8f8a", "brightwhite": "#ffffff",
}
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #1e2224; }}
pre {{ margin: 0; padding: 12px 16px; font: 14px/1.35 "DejaVu Sans Mono", monospace; color: #d3d7cf; }}
</style><pre>{}</pre>"""


class Terminal:
    """A program on a terminal, and what it shows."""

    def __init__(self, command, environment):
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.fd = pty.fork()
        if not self.pid:
            termios.tcsetwinsize(0, (ROWS, COLUMNS))
            os.execvpe(command[0], command, environment)

    def read(self, timeout):
        """Take what comes; False: nothing did."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return False
        self.stream.feed(os.read(self.fd, 65536))
        return True

    def wait(self):
        """Until it waits for a command."""
        while self.screen.display[self.screen.cursor.y].rstrip() != "(kymo)":
            if not self.read(30):
                sys.exit("pictures: no prompt in:\n" + "\n".join(self.screen.display))
        while self.read(0.5):
            pass

    def send(self, text):
        os.write(self.fd, text.encode() + b"\n")
        self.read(30)
        self.wait()

    def end(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)

    def page(self):
        return PAGE.format("\n".join(self._row(row) for row in range(ROWS)).rstrip())

    def _row(self, row):
        cells = [self.screen.buffer[row][column] for column in range(COLUMNS)]
        return "".join(self._cell(cell) for cell in cells).rstrip()

    def _cell(self, cell):
        fore, back = (COLORS.get(name, "#" + name) for name in (cell.fg, cell.bg))
        if cell.bg == "default":
            back = "#1e2224"
        if cell.reverse:
            fore, back = back, fore
        style = f"color:{fore};background:{back}" + (";font-weight:bold" if cell.bold else "")
        plain = cell.fg == cell.bg == "default" and not cell.reverse and not cell.bold
        return html.escape(cell.data) if plain else f'<span style="{style}">{html.escape(cell.data)}</span>'


def chromium():
    for name in "chromium-headless-shell", "chromium", "google-chrome":
        if found := shutil.which(name):
            return found
    sys.exit("pictures: no chromium: apt-get install chromium-headless-shell, or chromium")


def take(page, picture, width, height):
    subprocess.run(
        [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files",
         "--virtual-time-budget=5000", f"--window-size={width},{height}", f"--screenshot={picture}", page.as_uri()],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    print(f"{picture}: {picture.stat().st_size // 1000} kB")


def main(kymo, python, output):
    folder = Path(tempfile.gettempdir(), "shop")  # a name for pictures
    folder.mkdir()
    environment = os.environ | {"KYMO_PYTHON": python, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    script = shutil.copy(Path(__file__).with_name("orders.py"), folder)

    def run(*words, statuses=(0,)):
        done = subprocess.run([kymo, *words], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode not in statuses:
            sys.exit(f"pictures: kymo {words[0]}: {done.stderr}")

    for day, name, status in ("monday", "pass.kymo", 0), ("sunday", "fail.kymo", 1):
        run("record", "--no-stdlib", "--values=locals", "-f", "-o", name, script, day, "3", statuses=(status,))
    run("record", "--no-stdlib", "--events=calls", "-o", "busy.kymo", script, "monday", "400")
    run("report", "-o", "report.html", "busy.kymo")
    run("diff", "--html=diff.html", "pass.kymo", "fail.kymo", statuses=(1,))
    os.chdir(folder)
    terminal = Terminal([kymo, "replay", "fail.kymo"], environment)
    terminal.wait()
    for command in COMMANDS:
        terminal.send(command)
    (folder / "replay.html").write_text(terminal.page())
    terminal.end()
    output.mkdir(exist_ok=True)
    take(folder / "replay.html", output / "replay.png", 920, 620)
    take(folder / "report.html", output / "report.png", 1200, 900)
    take(folder / "diff.html", output / "diff.png", 1200, 720)
    shutil.rmtree(folder)


main(str(Path(sys.argv[1]).resolve()), sys.argv[2], Path(sys.argv[3]).resolve())
