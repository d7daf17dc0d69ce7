# SPDX-License-Identifier: Apache-2.0
"""`kymo top`: the functions that took the most time, in the terminal."""

import os
import select
import shutil
import sys
import termios
import time
import tty
from collections.abc import Iterator

from kymo._options import Options
from kymo._project import Shown
from kymo.profile import _tree, command, durations
from kymo.profile._tree import FunctionTimes, Profile, Slice
from kymo.profile.charts import place
from kymo.profile.edges import function_of, times_of
from kymo.profile.names import qualified
from kymo.profile.overhead import take_off

SUFFIX = ".incomplete"
MOST = 30
_KEYS = {
    "self": lambda times: times.self_ns,
    "total": lambda times: times.total_ns,
    "calls": lambda times: times.calls,
}
SPREAD = "Where calls follow each other fast, what they took together was measured, and is spread over them by what each\n"\
         "usually takes.  --clock=exact, of `kymo record`, measures each of them."
_LIVE = "it still runs: what its rings hold is not in the file yet"


def main(words: list[str], version: str = "") -> int:
    """@words: the verb and its words.  Returns the exit status."""
    return command.run(lambda: _top(words))


def _top(words: list[str]) -> int:
    options = Options(words[0], words[1:])
    command.check_shown(options)
    (path,), live, interval = options.operands, options.flag("live"), options.number("interval")
    table = _Table(options)
    wanted = command.slice_of(options)
    if live and sys.stdin.isatty() and sys.stdout.isatty():
        return _watch(path, wanted, table, 2 if interval is None else interval / 1e9)
    path, is_live = _current(path, live)
    profile = _tree.read(path, wanted)
    sys.stdout.writelines(f"{line}\n" for line in table.lines(profile, table.shown_of(path), is_live))
    return 0


def _current(path: str, is_live: bool) -> tuple[str, bool]:
    """The trace's present path, and whether it is still being written."""
    if is_live and not os.path.exists(path) and os.path.exists(path.removesuffix(SUFFIX)):
        return path.removesuffix(SUFFIX), False
    return path, is_live


def _watch(path: str, wanted: Slice, table: "_Table", interval: float) -> int:
    """Runs until the recording is over, or the user types q."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        while True:
            began = time.monotonic()
            path, is_live = _current(path, True)
            try:
                profile, shown = _tree.read(path, wanted), table.shown_of(path)
            except FileNotFoundError:
                if _current(path, True)[1]:
                    raise
                continue  # it was over just now
            room = shutil.get_terminal_size()
            lines = [_cut(line, room.columns) for line in table.lines(profile, shown, is_live, room.lines - 1)]
            sys.stdout.write("\033[H\033[J" + "\n".join(lines) + "\n")
            sys.stdout.flush()
            if not is_live:
                return 0
            # For a long recording, reading takes most of the time.
            until = time.monotonic() + max(interval, time.monotonic() - began)
            if _is_over(fd, until):
                return 0
    except KeyboardInterrupt:
        return 130
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _is_over(fd: int, until: float) -> bool:
    """Wait for a key, or until then; true if the user wants to end."""
    while (left := until - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            return False
        keys = os.read(fd, 64)
        if not keys or b"q" in keys:
            return True
        if b"\n" in keys or b"\r" in keys:
            return False
    return False


def _cut(line: str, columns: int) -> str:
    return line if len(line) < columns else line[: max(columns - 2, 0)] + "…"


class _Table:
    def __init__(self, options: Options) -> None:
        self.sort, self.most, self.overhead_ns = options.word("sort") or "self", options.number("n"), options.number("overhead") or 0
        self.options = options

    def shown_of(self, path: str) -> Shown:
        return command.shown_of(self.options, path)

    def lines(self, profile: Profile, shown: Shown, is_live: bool, room: int | None = None) -> Iterator[str]:
        take_off(profile, self.overhead_ns)
        cut = {function_of(node) for node in profile.nodes if node.is_cut}
        lasted = durations.text(profile.end_ns - profile.begin_ns, 0) if profile.threads else "0 s"
        lost = f", {profile.lost} lost" if profile.lost else ""
        still = f"; {_LIVE}" if is_live else ""
        threads = f"{len(profile.threads)} thread{'s' * (len(profile.threads) != 1)}"
        yield f"{lasted}, {threads}, {profile.events} events of calls{lost}{still}"
        if self.overhead_ns:
            yield f"less {durations.text(self.overhead_ns, 0)} for each recorded call and return"
        most = self.most or (MOST if room is None else max(room - 7, 1))
        own, other = [], []
        for times in times_of(profile):
            (own if shown.has(times.function.file) else other).append(times)
        own.sort(key=lambda times: -_KEYS[self.sort](times))
        yield f"{'calls':>12}  {'self':>10}  {'total':>10}  function"
        for times in own[:most]:
            yield _row(times, times.function in cut)
        if len(own) > most:
            yield f"{len(own) - most} more functions; -n shows them"
        if other and shown.folds:
            yield _folded(other)
        if any(times.self_err_ns > times.self_ns for times in own[:most]):
            yield SPREAD


def _folded(other: list[FunctionTimes]) -> str:
    """Their own times; totals include what they called, and would count it twice."""
    calls, self_ns, err_ns = (sum(column) for column in zip(*((each.calls, each.self_ns, each.self_err_ns) for each in other)))
    functions = f"{len(other)} function{'s' * (len(other) != 1)}"
    return f"{calls:>11}   {durations.text(self_ns, err_ns):>10}  {'':>10}  … {functions} of other code (--all)"


def _row(times: FunctionTimes, is_cut: bool) -> str:
    taken = durations.text(times.self_ns, times.self_err_ns), durations.text(times.total_ns, times.total_err_ns)
    what = f"{qualified(times.function)}  {place(times.function)}".rstrip()
    return f"{times.calls:>11}{'*' if is_cut else ' '}  {taken[0]:>10}  {taken[1]:>10}  {what}"
