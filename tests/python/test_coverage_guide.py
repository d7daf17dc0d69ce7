# SPDX-License-Identifier: Apache-2.0
"""docs/guide/coverage.md: its commands are run, and what is shown is what comes out.

As a program, this writes what comes out into the guide.
"""

import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import BUILD, KYMO, ROOT, environment

GUIDE = ROOT / "docs" / "guide" / "coverage.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(kind):
    return [text for name, text in BLOCK.findall(GUIDE.read_text()) if name == kind]


def make(folder):
    for name, text in zip(("cart.py", "tests.py"), blocks("python"), strict=True):
        (folder / name).write_text(text)
    # A text is verified only if it was there for a moment: this takes one.
    subprocess.run(
        [KYMO, "record", "-q", "-o", "first.kymo", "cart.py"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        check=True,
    )
    return folder


def transcript(text, folder):
    shown = ""
    for line in re.findall(r"^\$ (.*)$", text, re.M):
        done = subprocess.run(
            ["sh", "-c", f'PATH="{KYMO.parent}:$PATH"; {line}'],
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment({"PYTHONPATH": BUILD / "python"}),
        )
        shown += f"$ {line}\n{done.stdout}"
    return re.sub(r"\nThe source may not be what ran: .*\n", "", shown)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make(tmp_path_factory.mktemp("guide").resolve())


@pytest.mark.parametrize("number", range(2))
def test_what_the_terminal_shows(number, folder):
    assert transcript(blocks("console")[number], folder) == blocks("console")[number]


def test_every_setting_is_told():
    from kymo.coverage.settings import _OPTIONS

    told = set(re.findall(r"`(\w+)`", GUIDE.read_text().split("## Settings")[1].split("## ")[0]))
    assert {option for options in _OPTIONS.values() for option in options} | {"paths"} <= told


def test_every_table_of_a_counts_file_is_told():
    from kymo.coverage.counts_file import _SCHEMA

    told = set(re.findall(r"^\| `(\w+)`(?:, `(\w+)`)?", GUIDE.read_text().split("user_version")[1], re.M))
    assert {name for names in told for name in names if name} == set(re.findall(r"CREATE TABLE (\w+)", _SCHEMA))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        text, place = GUIDE.read_text(), make(Path(name).resolve())
        for block in blocks("console"):
            text = text.replace(f"```console\n{block}```", f"```console\n{transcript(block, place)}```")
        GUIDE.write_text(text)
