# SPDX-License-Identifier: Apache-2.0
"""Each verb once, on a run that is small and known: what `./dev test --quick` has of the whole."""

import json
import re

import pytest

PROGRAM = """
def halve(number):
    if number % 2:
        raise ValueError(number)
    return number // 2

def main(numbers):
    total = 0
    for number in numbers:
        try:
            total += halve(number)
        except ValueError:
            total -= 1
    return total

import sys
print(main([4, 6, int(sys.argv[1])]))
"""

# verb and options → what it prints of the run; TRACE and OTHER are the recordings, OUT a file that it may write
VERBS = {
    "info TRACE": r"thread 1 'MainThread': \d+ events",
    "ps TRACE": "program.py",
    "stats TRACE": r"PY_RETURN +\d+",
    "top --file=program.py TRACE": r"halve",
    "events --function=halve TRACE": r"PY_RETURN +\S+program.py:5 halve",
    "source TRACE": r"program.py",
    "tail -n 5 --all TRACE": r"PY_RETURN +\S+program.py:\d+ <module>",
    "index TRACE": "1 chunk",
    "verify TRACE": "",
    "diff TRACE OTHER": r"program.py",
    "coverage TRACE": r"program.py +14 +3 +79%",  # the raise and its handler
    "combine -o OUT TRACE OTHER": None,
    "export --format=collapsed TRACE": r"halve",
    "report -o OUT TRACE": None,
    "suspects --pass TRACE --fail OTHER": r"program.py",
}
INTERACTIVE = {"record", "replay", "dap", "salvage", "snapshot"}  # which need more than a trace: below, or elsewhere


@pytest.fixture(scope="module")
def recordings(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("smoke")
    script = folder / "program.py"
    script.write_text(PROGRAM)
    for name, number in ("TRACE", 8), ("OTHER", 7):
        done = kymo("record", "--values=locals", "-o", folder / f"{name}.kymo", "--", script, number)
        assert done.stdout.splitlines()[0] == {8: "9", 7: "4"}[number]
    return folder


@pytest.mark.parametrize("command", VERBS)
def test_verb(command, recordings, kymo):
    output = recordings / (command.split()[0] + ".out")
    words = {name: recordings / f"{name}.kymo" for name in ("TRACE", "OTHER")} | {"OUT": output}
    verb, *rest = (words.get(word, word) for word in command.split())
    done = kymo(verb, *rest, check=False)
    assert done.returncode == (1 if verb == "diff" else 0), done.stderr
    if VERBS[command] is None:
        assert output.stat().st_size
    else:
        assert re.search(VERBS[command], done.stdout), done.stdout


def test_no_verb_is_forgotten(kymo):
    verbs = set(re.findall(r"^  ([a-z]+) ", kymo("--help").stdout, re.M))
    assert verbs == {command.split()[0] for command in VERBS} | INTERACTIVE


def test_replay(recordings, kymo):
    commands = "goto start\nbreak halve\ncontinue\nprint number\nreverse-step\nquit\n"
    shown = kymo("replay", recordings / "TRACE.kymo", input=commands).stdout
    assert re.search(r"^(number = )?4$", shown, re.M), shown


def test_values_are_those_of_the_run(recordings, events):
    told = json.dumps(events(recordings / "OTHER.kymo", "--function=halve"))
    assert '"number"' in told and "7" in told
