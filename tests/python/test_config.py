# SPDX-License-Identifier: Apache-2.0
"""Where the options of a recording come from, and which interpreter and program it runs."""
import json
import os
import subprocess
import sys

import pytest

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
    (['event = "LINE"'], "[tool.kymo] event: there is no such option"),
    (['policy = "never"'], "[tool.kymo] policy: 'never' is no policy: use block, drop or overwrite"),
    (['policy = ["drop", "block"]'], "[tool.kymo] policy: one value is needed"),
    (['no-stdlib = "yes"'], "[tool.kymo] no-stdlib: true or false is needed"),
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
    assert run(KYMO_RING_SIZE="x").stderr.startswith("kymo record: KYMO_RING_SIZE: 'x' is no size")
    assert run("--ring-size=x").stderr.startswith("kymo record: --ring-size: 'x' is no size")
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
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "exists; -f replaces it" in done.stderr
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
        f"ValueError: {project.folder / 'pyproject.toml'}: [tool.kymo] evens: there is no such option"]


@pytest.fixture
def path(tmp_path):
    """path("a/python3", "exit 1"): a script there, or with True this interpreter; returns its folder."""
    def make(name, what):
        program = tmp_path / name
        program.parent.mkdir(exist_ok=True)
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


def test_no_python_is_one_line_that_names_what_was_found(choose, path, tmp_path):
    folder = path("a/python3", OLD)
    path(f"a/{VERSION}", SHIM)
    done = choose(folder)
    assert done.returncode == 1
    assert done.stderr == (
        "kymo: no Python on PATH that Kymo can record (KYMO_PYTHON may name another): "
        f"{folder}/python3 is Python 3.11, which has no sys.monitoring; {folder}/{VERSION} does not run as Python 3\n")
    done = choose(tmp_path / "nowhere")
    assert done.stderr == "kymo: no Python on PATH that Kymo can record (KYMO_PYTHON may name another)\n"
    done = choose(folder, KYMO_PYTHON="python3.29")
    assert done.stderr == "kymo: KYMO_PYTHON: there is no program 'python3.29'\n"


def test_a_python_without_its_extension_is_told(choose, path):
    folder = path("a/python3", 'echo "3 28 .cpython-328t-x86_64-linux-gnu.so"')
    assert "is Python 3.28, for which there is no _kymo.cpython-328t-x86_64-linux-gnu.so" in choose(folder).stderr


@pytest.mark.parametrize("make, command, status, says", [
    (None, "nosuch", 127, "there is no program and no .py file 'nosuch'"),
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
