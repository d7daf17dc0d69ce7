# SPDX-License-Identifier: Apache-2.0
"""Where the options of a recording come from, and which interpreter and program it runs."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import environments
from conftest import TIMEOUT, environment

PROGRAM = """
def f():
    return 1
f()
"""


@pytest.fixture
def project(tmp_path):
    """project("quiet = true"): write [tool.kymo] in project.folder, where a program is."""
    (tmp_path / "app.py").write_text(PROGRAM)
    (tmp_path / "below").mkdir()

    def write(*lines):
        (tmp_path / "pyproject.toml").write_text("\n".join(["[project]", "", "[tool.kymo]", *lines]))
    write.folder = tmp_path
    return write


@pytest.fixture
def configuration(kymo, project):
    """configuration("--events=LINE"): the configuration that a recording with these options has."""
    def run(*options, env=None, cwd="."):
        kymo("record", "-f", "-o", project.folder / "t.kymo", *options, project.folder / "app.py", env=env,
             cwd=project.folder / cwd)
        return json.loads(kymo("info", "--json", project.folder / "t.kymo").stdout)["session"]
    return run


def functions(events):
    return {event.get("function") for event in events}


def test_the_command_line_goes_before_the_environment_before_the_file(project, configuration):
    assert configuration()["events"] == "flow"
    project('events = "RAISE"', 'policy = "drop"', 'clock = "none"')
    assert [configuration()[key] for key in ("events", "policy", "clock")] == ["RAISE", "drop", "none"]
    env = {"KYMO_EVENTS": "LINE", "KYMO_POLICY": "overwrite"}
    assert [configuration(env=env)[key] for key in ("events", "policy", "clock")] == ["LINE", "overwrite", "none"]
    assert [configuration("--events=full", env=env)[key] for key in ("events", "policy")] == ["full", "overwrite"]


def test_the_nearest_file_counts_and_only_with_the_text(project, configuration):
    project('events = "RAISE"')
    assert configuration(cwd="below")["events"] == "RAISE"
    (project.folder / "below" / "pyproject.toml").write_text("this is [no TOML at all")
    assert configuration(cwd="below")["events"] == "flow"


@pytest.mark.parametrize("lines, says", [
    (['event = "LINE"'], "[tool.kymo] event: unknown option"),
    (['policy = "never"'], "[tool.kymo] policy: not a policy: 'never'; use block, drop or overwrite"),
    (['policy = ["drop", "block"]'], "[tool.kymo] policy: it takes one value"),
    (['no-stdlib = "yes"'], "[tool.kymo] no-stdlib: it must be true or false"),
    (["policy = drop"], "Invalid value"),
])
def test_a_mistake_in_the_file_is_one_line_that_names_it(kymo, project, lines, says):
    project(*lines)
    done = kymo("record", project.folder / "app.py", cwd=project.folder, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert str(project.folder / "pyproject.toml") in done.stderr and says in done.stderr
    assert sorted(os.listdir(project.folder)) == ["app.py", "below", "pyproject.toml"]


def test_a_mistake_elsewhere_names_the_option_as_it_was_given(kymo, project):
    run = lambda *options, **env: kymo("record", *options, "-c", "", cwd=project.folder, check=False, env=env)
    assert run(KYMO_RING_SIZE="x").stderr.startswith("kymo record: KYMO_RING_SIZE: not a size: 'x'")
    assert run("--ring-size=x").stderr.startswith("kymo record: --ring-size: not a size: 'x'")
    assert run("--events=NO").stderr.startswith("kymo record: --events: no event or profile is called 'NO'")


def test_flags_and_lists(project, configuration, kymo, events):
    trace = project.folder / "t.kymo"
    (project.folder / "other.py").write_text("def other(): pass\nother()")
    (project.folder / "app.py").write_text(PROGRAM + "import other, json")
    project("no-stdlib = true", "c-calls = false", 'source = ["app.py", "other"]')
    configuration()
    assert functions(events(trace)) == {"<module>", "f", "other"}
    configuration(cwd="below")  # a path in the file is relative to the file
    assert functions(events(trace)) == {"<module>", "f", "other"}
    configuration(env={"KYMO_SOURCE": "below:app.py"})  # a list takes the place of another
    assert functions(events(trace)) == {"<module>", "f"}
    configuration("--source=../other.py", cwd="below")
    assert functions(events(trace)) == {"<module>", "other"}
    configuration(env={"KYMO_C_CALLS": "1", "KYMO_OMIT": "other.py::no.py"})
    assert "CALL" in {event["event"] for event in events(trace)}
    assert functions(events(trace)) == {"<module>", "f"}


def test_output_in_the_file_lies_beside_it(kymo, project):
    project('output = "from-file.kymo"', "quiet = true")
    done = kymo("record", "../app.py", cwd=project.folder / "below")
    assert done.stderr == ""
    assert (project.folder / "from-file.kymo").exists()
    done = kymo("record", "app.py", cwd=project.folder, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "already exists; use -f to replace it" in done.stderr
    kymo("record", "app.py", cwd=project.folder, env={"KYMO_FORCE": "1"})


API = """
import json, kymo, sys
with kymo.record(**json.loads(sys.argv[1])):
    exec('def f(): return 1\\nf()')
"""


def api(project, importing, options, env=None):
    done = subprocess.run([sys.executable, "-c", API, json.dumps(options)], cwd=project.folder, timeout=TIMEOUT,
                          env=environment(importing | (env or {})), capture_output=True, text=True)
    assert not done.returncode or done.stderr
    return done.stderr.splitlines()[-1:]


def test_the_api_takes_what_it_is_not_told_from_there_too(project, importing, events):
    kinds = lambda name: {event["event"] for event in events(project.folder / name)}
    project('events = "PY_RETURN"', 'output = "file.kymo"', "no-stdlib = false")
    assert api(project, importing, {}) == []
    assert kinds("file.kymo") == {"PY_RETURN"}
    assert api(project, importing, {}, {"KYMO_EVENTS": "LINE", "KYMO_OUTPUT": "env.kymo"}) == []
    assert kinds("env.kymo") == {"LINE"}
    assert api(project, importing, {"events": "PY_START", "output": "told.kymo"}, {"KYMO_EVENTS": "LINE"}) == []
    assert kinds("told.kymo") == {"PY_START"}
    project("evens = 1")
    assert api(project, importing, {}) == [
        f"ValueError: {project.folder / 'pyproject.toml'}: [tool.kymo] evens: unknown option"]


@pytest.mark.parametrize("kind", ["a FIFO", "an endless device", "a folder"])
def test_a_pyproject_that_is_no_file_is_passed_by(kind, project, kymo, importing, tmp_path):
    """The next one upwards counts."""
    project('events = "LINE"')
    path = tmp_path / "below" / "pyproject.toml"
    {"a FIFO": os.mkfifo, "an endless device": lambda path: path.symlink_to("/dev/zero"), "a folder": os.mkdir}[kind](path)
    kymo("record", "-qo", "a.kymo", "../app.py", cwd=path.parent)
    program = "import kymo\nwith kymo.record('b.kymo'):\n    exec('def f(): pass\\nf()')"
    subprocess.run([sys.executable, "-c", program], cwd=path.parent, env=environment(importing), check=True, timeout=TIMEOUT)
    for name in "a.kymo", "b.kymo":
        assert json.loads(kymo("info", "--json", path.parent / name).stdout)["session"]["events"] == "LINE"


@pytest.fixture
def path(tmp_path):
    """path("a/python3", "exit 1"): a script there, or with True this interpreter; returns its folder."""
    def make(name, what):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        if what is True:
            program.symlink_to(os.path.realpath(sys.executable))
        else:
            program.write_text(f"#!/bin/sh\n{what}\n")
            program.chmod(0o755)
        return program.parent
    return make


@pytest.fixture
def choose(kymo, tmp_path):
    """choose(folder, …): record with that PATH; returns a CompletedProcess."""
    def run(*folders, **env):
        env = {"KYMO_PYTHON": None, "VIRTUAL_ENV": None, "PATH": ":".join(map(str, folders))} | env
        return kymo("record", "-q", "-c", "import sys; print(sys.executable)", env=env, cwd=tmp_path, check=False)
    return run


VERSION = f"python3.{sys.version_info.minor}"
OLD = 'echo "3 11 .cpython-311-x.so"'
SHIM = f'echo "shim: {VERSION}: command not found" >&2; exit 127'


def test_python3_is_taken_if_it_can_be_recorded(choose, path):
    folder = path("a/python3", True)
    path(f"a/{VERSION}", SHIM)
    assert choose(folder).stdout == f"{folder}/python3\n"


def test_else_the_newest_python_that_runs(choose, path):
    folder = path("a/python3", OLD)
    path(f"a/{VERSION}", SHIM)
    path("a/python3.29", SHIM)
    good = path(f"b/{VERSION}", True)
    assert choose(folder, good).stdout == f"{good}/{VERSION}\n"
    asked = path("c/python3", f'exec {sys.executable} "$@"')  # a shim that runs
    assert choose(asked).returncode == 0


@pytest.fixture(scope="module")
def environment_of_kymo(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "venv"
    environments.make(folder, build)
    return folder


def test_the_python_beside_a_kymo_that_is_run_by_path(environment_of_kymo, path, tmp_path):
    """Its own environment's comes after KYMO_PYTHON and an activated environment, and before PATH."""
    own, (folder, other) = environment_of_kymo, (path("a/python3", True), path("active/bin/python", True))
    path(f"a/{VERSION}", True)
    path("a/mine", True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "kymo").symlink_to(own / "bin" / "kymo")

    def chosen(*words, folders=(folder,), **env):
        more = {"KYMO_PYTHON": None, "VIRTUAL_ENV": None, "PATH": ":".join(map(str, folders)), "KYMO_FORCE": 1} | env
        done = subprocess.run([*words, "record", "-qo", "a.kymo", "-c", "import sys; print(sys.executable)"], text=True,
                              cwd=own.parent, env=environment(more), capture_output=True, timeout=TIMEOUT)
        assert (done.returncode, done.stderr) == (0, "")
        return Path(done.stdout.strip())

    beside = own / "bin" / "python"
    assert chosen(own / "bin" / "kymo") == chosen("venv/bin/kymo") == chosen("./venv/bin/../bin/kymo") == beside
    assert chosen(own / "bin" / "kymo", folders=[tmp_path / "nowhere"]) == beside
    assert chosen(own / "bin" / "kymo", VIRTUAL_ENV=tmp_path / "active") == other / "python"
    assert chosen(own / "bin" / "kymo", KYMO_PYTHON="mine", VIRTUAL_ENV=tmp_path / "active") == folder / "mine"
    # By its name, also through a link to it from elsewhere: what `python3` would be.
    assert chosen("kymo", folders=[folder, own / "bin"]) == folder / "python3"
    assert chosen(tmp_path / "b" / "kymo") == folder / "python3"


def test_verbs_take_the_python_beside_kymo(environment_of_kymo, record, path, tmp_path):
    """Of the version that recorded, before one on PATH of that version: it has what is installed for it."""
    trace = record("pass", "--events=calls")
    folder = path(f"a/{VERSION}", f'echo "not this one" >&2; exec {sys.executable} "$@"')
    for words in ["top", trace], ["export", "--format=arrow", "-o", tmp_path / "a.arrow", trace]:
        done = subprocess.run([environment_of_kymo / "bin" / "kymo", *words], text=True, capture_output=True, timeout=TIMEOUT,
                              env=environment({"KYMO_PYTHON": None, "VIRTUAL_ENV": None, "PATH": f"{folder}:/usr/bin:/bin"}))
        assert "not this one" not in done.stderr
        assert words[0] == "top" or f"{environment_of_kymo}/bin/python cannot import it" in done.stderr


def test_no_python_is_one_line_that_names_what_was_found(choose, path, tmp_path):
    folder = path("a/python3", OLD)
    path(f"a/{VERSION}", SHIM)
    done = choose(folder)
    assert done.returncode == 1
    assert done.stderr == (
        "kymo: no Python on PATH that Kymo can record (set KYMO_PYTHON to use another): "
        f"{folder}/python3 is Python 3.11, and Kymo needs 3.12 or newer; {folder}/{VERSION} is not a Python 3 interpreter\n")
    done = choose(tmp_path / "nowhere")
    assert done.stderr == "kymo: no Python on PATH that Kymo can record (set KYMO_PYTHON to use another)\n"
    done = choose(folder, KYMO_PYTHON="python3.29")
    assert done.stderr == "kymo: KYMO_PYTHON: cannot find the program 'python3.29'\n"


def test_a_python_without_its_extension_is_told(choose, path):
    folder = path("a/python3", 'echo "3 28 .cpython-328t-x86_64-linux-gnu.so"')
    assert "is Python 3.28, and this kymo has no extension for it (_kymo.cpython-328t-x86_64-linux-gnu.so" in choose(folder).stderr


@pytest.mark.parametrize("make, command, status, says", [
    (None, "nosuch", 127, "cannot find a program or a .py file 'nosuch'"),
    (None, "./nosuch.py", 127, "./nosuch.py: No such file or directory"),
    (0o644, "./there", 126, "./there: not executable, and no .py file"),
    (0o755, "./there", 126, "cannot run ./there: Exec format error"),
])
def test_a_command_that_cannot_run_has_the_status_of_a_shell(kymo, tmp_path, make, command, status, says):
    if make:
        (tmp_path / "there").write_text("nothing")
        (tmp_path / "there").chmod(make)
    before = sorted(os.listdir(tmp_path))
    done = kymo("record", "--", command, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (status, f"kymo: {says}\n")
    assert sorted(os.listdir(tmp_path)) == before
