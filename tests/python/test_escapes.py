# SPDX-License-Identifier: Apache-2.0
"""Names that steer a terminal, or hide text in it, reach none: not from traces, files' names or settings."""
import json
import subprocess
import unicodedata

import pytest
from conftest import KYMO, environment

ESC, CSI, RLO, ALM, ZWSP, TAG, SHY, BEL = "\x1b[31m", "\x9b31m", "\u202e", "\u061c", "\u200b", "\U000e0041", "\u00ad", "\x07"
NASTY = ESC + CSI + RLO + ALM + ZWSP + TAG + SHY + BEL
HARMLESS = "\u00fc\u4e2d\U0001f41b"

PROGRAM = f'''
import kymo, threading
name = {NASTY!r} + {HARMLESS!r}
def f(argument):
    raise type(name, (Exception,), {{}})(argument)
f.__code__ = f.__code__.replace(co_name=name, co_qualname=name)
def run():
    try:
        f(name)
    except Exception:
        kymo.mark(name)
    with kymo.context(name):
        f.__class__
thread = threading.Thread(target=run, name=name)
thread.start()
thread.join()
'''


@pytest.fixture(scope="module")
def trace(tmp_path_factory, build):
    folder = tmp_path_factory.mktemp("escapes") / (NASTY + HARMLESS)
    folder.mkdir()
    program = folder / f"p{NASTY}{HARMLESS}.py"
    program.write_text(PROGRAM)
    command = [KYMO, "record", "-q", "--values=locals", "-o", folder / "t.kymo", program, NASTY]
    subprocess.run(command, env=environment({"PYTHONPATH": build / "python"}), cwd=folder, check=True)
    return folder / "t.kymo"


def check(text):
    unsafe = {c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    assert not unsafe, (unsafe, [line for line in text.splitlines() if unsafe & set(line)][:5])


TEXTS = [
    ("info",), ("ps",), ("stats",), ("stats", "--callers=*"), ("events",), ("tail",), ("top",), ("source",), ("verify",),
    ("coverage",), ("coverage", "--format=markdown"), ("diff",), ("info", "--json"), ("events", "--jsonl"), ("tail", "--json"),
    ("diff", "--json"), ("coverage", "--format=json"), ("replay",),
]
COMMANDS = "info threads\nwhere\nnext\nstep\ninfo locals\ncontinue\nreverse-continue\nlist\nfinish\nbreak f\nquit\n"


@pytest.mark.parametrize("words", TEXTS, ids=" ".join)
def test_what_verbs_print_steers_no_terminal(words, trace):
    operands = [trace] * (2 if words[0] == "diff" else 1)
    done = subprocess.run([KYMO, *words, *operands], env=environment(), capture_output=True, text=True, input=COMMANDS, cwd=trace.parent)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr
    check(done.stdout)
    check(done.stderr)
    if "--jsonl" in words:
        said = [json.loads(line) for line in done.stdout.splitlines()]
        assert {event.get("function") for event in said} >= {NASTY + HARMLESS}  # JSON's escapes lose nothing
        assert HARMLESS in done.stdout


@pytest.mark.parametrize("setting", ['events = "{0}"', 'policy = "{0}"', '"{0}" = true', 'include = "{0}"\npolicy = "{0}"', "{0}"])
def test_messages_about_settings_do_not_either(setting, tmp_path):
    nasty = NASTY.encode("unicode_escape").decode().replace("\\x", "\\u00").replace("\\U000e0041", "\\U000E0041")
    (tmp_path / "pyproject.toml").write_text(f"[tool.kymo]\n{setting.format(nasty)}\n")
    done = subprocess.run([KYMO, "record", "-c", "1"], env=environment(), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    check(done.stderr)


@pytest.mark.parametrize("words", [(NASTY,), ("info", NASTY), ("record", f"--policy={NASTY}"), ("record", f"{NASTY}.py"),
                                   ("coverage", NASTY), ("export", f"--format={NASTY}", "x"), ("replay", NASTY), ("top", NASTY),
                                   ("export", "--format=pstats", NASTY), ("report", NASTY, "-o", "x"), ("suspects", NASTY)], ids=lambda w: w[0][:9])
def test_messages_about_words_do_not_either(words, tmp_path):
    done = subprocess.run([KYMO, *words], env=environment(), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode, words
    check(done.stderr)
