# SPDX-License-Identifier: Apache-2.0
"""A small project that the tests of coverage report on, and coverage.py on the same program."""

import subprocess
import sys
from pathlib import Path

from conftest import TIMEOUT, environment

FILES = {
    "main.py": """\
from pkg import shapes
import pkg.empty

shape = shapes.Shape()
shape.area(1)
shapes.loop(5)
shapes.choose(1)
if len("x") > 2:
    print("no")
later = lambda: (
    5)
""",
    "pkg/__init__.py": "",
    "pkg/empty.py": "# nothing\n",
    "pkg/unused.py": """\
def unused(a):
    if a:
        return 1
    return 2
""",
    "pkg/shapes.py": '''\
"""What a report can show."""
import functools


def wrap(function):
    @functools.wraps(function)
    def inner(*args):
        return function(
            *args)
    return inner


class Shape:
    @wrap
    def area(self, x):
        if x:
            return 1
        else:
            return 2

    def never(self):
        while True:
            break
        return 3  # pragma: no cover

    class Part:
        def short(self): return 5


def loop(n):
    for i in range(n):
        if i == 3: continue
        try:
            if i == 1:
                raise ValueError
        except ValueError:
            pass
        finally:
            i += 1
    if n:  # pragma: no branch
        return [
            j for j in range(n)
            if j
        ]


def choose(value):
    match value:
        case 1:
            return "a"
        case _:
            return "b"
''',
}


def make(folder: Path) -> Path:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def coverage(folder, *words, check=True):
    """coverage.py's own command in @folder: its stdout."""
    done = subprocess.run(
        [sys.executable, "-m", "coverage", *map(str, words)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout
