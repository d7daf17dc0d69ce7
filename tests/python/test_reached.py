# SPDX-License-Identifier: Apache-2.0
"""The table of docs/guide/processes.md: which Pythons are recorded, and why the others are not."""
import re
import shutil
import subprocess
import sysconfig
import textwrap
import zipapp
from pathlib import Path

import pytest

import environments
from conftest import ROOT, environment

TABLE = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) ?\|$",
                   (ROOT / "docs/guide/processes.md").read_text().split("\n## ")[0], re.M)[1:]

# Who is not recorded lives until it was looked at, and a second more.
APP = """
import sys, time
def reached(): pass
def main():
    reached()
    time.sleep({pause})
if __name__ == "__main__":
    main()
"""
COMMANDS = {}


def row(name):
    """The decorated function gives the command of the row @name; in its folder is app.py."""
    def add(make):
        COMMANDS[name] = make
        return make
    return add


for option in "", "-s ", "-P ", "-X frozen_modules=off ", "-E ", "-I ", "-S ":
    COMMANDS[f"`python {option}app.py`"] = lambda python, folder, words=option.split(): [python, *words, "app.py"]
for name, words in ("env -u PYTHONPATH", ["env", "-u", "PYTHONPATH"]), ("env -i", ["env", "-i"]):
    COMMANDS[f"`{name} python app.py`"] = lambda python, folder, words=words: [*words, python, "app.py"]
row("`python -m app`")(lambda python, folder: [python, "-m", "app"])
row("`python -c …`")(lambda python, folder: [python, "-c", "import app; app.main()"])


def running(text):
    """A row whose command is a program with @text in it."""
    def make(python, folder):
        (folder / "program.py").write_text(textwrap.dedent(text))
        return [python, "program.py"]
    return make


for name, arguments in (
    ("`subprocess.run(…)`", ""),
    ('`subprocess.run(…, env={**os.environ, "A": "1"})`', ", env={**os.environ, 'A': '1'}"),
    ("`subprocess.run(…, env={})`", ", env={}"),
):
    COMMANDS[name] = running(f"""
        import os, subprocess, sys
        subprocess.run([sys.executable, "app.py"], check=True{arguments})
        """)
for method in "fork", "spawn", "forkserver":
    COMMANDS[f"`multiprocessing`, {method}"] = running(f"""
        import app, multiprocessing
        if __name__ == "__main__":
            process = multiprocessing.get_context("{method}").Process(target=app.main)
            process.start()
            process.join()
        """)
row("`os.fork()`")(running("""
    import app, os
    if not os.fork():
        app.main()
    else:
        os.wait()
    """))
row("`os.execv(…)`")(running("import os, sys; os.execv(sys.executable, [sys.executable, 'app.py'])"))


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return [path]


@row("a script with `#!…/python`")
def script(python, folder):
    return executable(folder / "script", f"#!{python}\n" + (folder / "app.py").read_text())


@row("a console script that pip has made")
def console_script(python, folder):
    return executable(folder / "command", f"#!{python}\nimport sys\nsys.path.insert(0, '{folder}')\n"
                      "from app import main\nif __name__ == '__main__':\n    sys.exit(main())\n")


@row("a zipapp, `app.pyz`")
def zipped(python, folder):
    source = folder / "source"
    source.mkdir()
    shutil.copy(folder / "app.py", source / "__main__.py")
    zipapp.create_archive(source, folder / "app.pyz", interpreter=str(python))
    return [folder / "app.pyz"]


@row("a virtual environment made by the command")
def virtual_environment(python, folder):
    return ["sh", "-c", f"'{python}' -m venv --without-pip new && new/bin/python app.py"]


@row("the `pip` that `python -m venv` runs")
def pip_of_venv(python, folder):
    return [python, "-m", "venv", "new"]


def tool(name):
    path = Path(sysconfig.get_path("scripts")) / name
    if not path.exists():
        pytest.skip(f"{name} is not installed")
    return path


@row("`pytest -n 2` (pytest-xdist)")
def xdist(python, folder):
    pytest.importorskip("xdist")
    (folder / "test_app.py").write_text("from app import main as test_main\n")
    return [python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "test_app.py"]


@row("`nox`")
def nox(python, folder):
    (folder / "noxfile.py").write_text("import nox\n@nox.session\ndef tests(session): session.run('python', 'app.py')\n")
    return [tool("nox")]


@row("`uv run`")
def uv(python, folder):
    return [tool("uv"), "run", "--offline", "--no-project", "--no-config", "--python", python, "python", "app.py"]


def tox_with(setting):
    def make(python, folder):
        (folder / "tox.ini").write_text(f"[tox]\nno_package = true\n[testenv]\n{setting}\ncommands = python app.py\n")
        return [tool("tox"), "-q", "-e", "py"]
    return make


row("`tox`")(tox_with(""))
row("`tox` with `pass_env = KYMO_*, PYTHONPATH`")(tox_with("pass_env = KYMO_*, PYTHONPATH"))


@pytest.fixture(scope="module")
def installed(build, tmp_path_factory):
    """The interpreter of a virtual environment that has Kymo as an installation would."""
    return environments.make(tmp_path_factory.mktemp("installed"), build)


def check(name, expected, python, kymo, folder):
    is_recorded = expected == "recorded"
    (folder / "app.py").write_text(APP.format(pause=0 if is_recorded else 2))
    trace = folder / "trace.kymo"
    kymo("record", "-q", "-o", trace, "--", *COMMANDS[name](python, folder), cwd=folder,
         env={"HOME": folder, "KYMO_PYTHON": python})
    assert bool(kymo("events", "--function=reached", trace).stdout) == is_recorded
    listing = kymo("ps", trace).stdout
    if not is_recorded:
        assert f"[not recorded: {expected}]" in listing
    return listing


def test_the_table_is_that_of_the_tests():
    assert {name for name, _, _ in TABLE} == COMMANDS.keys()


@pytest.mark.parametrize("name, expected", [(name, cell) for name, cell, _ in TABLE])
def test_where_kymo_is_not_installed(name, expected, python, kymo, tmp_path):
    check(name, expected, python, kymo, tmp_path)


@pytest.mark.parametrize("name, expected", [(name, cell) for name, _, cell in TABLE if cell])
def test_where_kymo_is_installed(name, expected, installed, kymo, tmp_path):
    check(name, expected, installed, kymo, tmp_path)


def test_an_old_python_is_named(kymo, tmp_path):
    old = next(filter(None, map(shutil.which, ("python3.11", "python3.10", "python3.9"))), None)
    if not old or subprocess.run([old, "-c", ""], env=environment()).returncode:
        pytest.skip("there is no Python below 3.12")
    kymo("record", "-q", "-o", tmp_path / "t.kymo", "--", old, "-c", "import time; time.sleep(1)")
    assert "[not recorded: a Python below 3.12: it has no sys.monitoring]" in kymo("ps", tmp_path / "t.kymo").stdout


def test_children_that_are_not_wanted_are_not_listed(kymo, tmp_path):
    child = "import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', 'import time; time.sleep(1)'])"
    kymo("record", "-q", "-o", tmp_path / "t.kymo", "--no-subprocesses", "-c", child)
    assert "not recorded" not in kymo("ps", tmp_path / "t.kymo").stdout
