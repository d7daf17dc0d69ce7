# SPDX-License-Identifier: Apache-2.0
"""kymo dap in real editors: dape in Emacs, nvim-dap in Neovim, where they are installed.

Debian has dape as elpa-dape.  nvim-dap is in no package: NVIM_DAP names a folder that has it.
"""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import KYMO, ROOT, TIMEOUT, environment

SESSIONS = ROOT / "tests" / "dap"
PROGRAM = """
import threading, kymo
begun, done = threading.Event(), threading.Event()
def work():
    begun.set()
    done.wait()
    return 1
thread = threading.Thread(target=work)
thread.start()
begun.wait()
def here():
    kymo.mark("here")
here()
done.set()
thread.join()
"""
COMMANDS = ["goto here", "thread 2", "thread 1", "reverse-step", "next-switch", "reverse-switch", "goto end"]


def in_emacs(trace, folder):
    if not shutil.which("emacs") or not Path("/usr/share/emacs/site-lisp/elpa").exists() or not list(
            Path("/usr/share/emacs/site-lisp/elpa").glob("dape-*")):
        pytest.skip("there is no Emacs with dape: the package is elpa-dape")
    return ["emacs", "--batch", "-l", SESSIONS / "emacs" / "session.el", KYMO, trace, *COMMANDS], {"HOME": folder}


def in_neovim(trace, folder):
    if not shutil.which("nvim") or not os.environ.get("NVIM_DAP"):
        pytest.skip("there is no Neovim with nvim-dap: NVIM_DAP names its folder")
    more = {"HOME": folder, "KYMO": KYMO, "TRACE": trace, "COMMANDS": ";".join(COMMANDS), "NVIM_DAP": os.environ["NVIM_DAP"]}
    return ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-l", SESSIONS / "neovim" / "session.lua"], more


@pytest.mark.parametrize("editor", [in_emacs, in_neovim])
def test_a_command_that_changes_the_thread_stops_once(editor, record, kymo, importing, tmp_path):
    trace = record(PROGRAM, env=importing)
    words, more = editor(trace, tmp_path)
    env = environment() | {name: str(value) for name, value in more.items()}
    done = subprocess.run(list(map(str, words)), env=env, capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path)
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [place["stops"] for place in said] == list(range(2, len(COMMANDS) + 2)), done.stdout + done.stderr
    for number, place in enumerate(said):
        lines = "".join(f"{line}\n" for line in [*COMMANDS[:number + 1], "where --all", "info"])
        replay = kymo("replay", trace, input=lines, check=False).stdout
        line, function = re.findall(r"^> .*\((\d+)\)(\S+)\(\)$", replay, re.M)[-1]
        thread = re.findall(r"^thread +thread (\d+)", replay, re.M)[-1]
        assert (place["thread"], place["function"], place["line"]) == (int(thread), function, int(line)), COMMANDS[number]
