# SPDX-License-Identifier: Apache-2.0
"""How a Python comes to be recorded: kymo.pth, kymo.start, sitecustomize.py, sub-interpreters."""
import shutil
import subprocess
import sys
import textwrap

import pytest

import environments
from conftest import ROOT, TIMEOUT, environment


@pytest.fixture(scope="module")
def installed(build, tmp_path_factory):
    """The interpreter of a virtual environment that has Kymo as an installation would."""
    return environments.make(tmp_path_factory.mktemp("installed"), build)


@pytest.fixture
def run(tmp_path):
    def run(*command, env=None):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT,
                              env=environment(env))
        assert done.returncode == 0, done.stderr
        return done
    return run


@pytest.fixture
def complete(kymo):
    """complete(trace): wait until the reader has closed the trace of a program that ended."""
    def wait(trace):
        done = subprocess.run(["timeout", "60", "sh", "-c", 'until [ -e "$0" ]; do sleep 0.02; done', trace])
        assert done.returncode == 0, f"no {trace} after a minute"
        return trace
    return wait


def functions(events):
    return {event.get("function") for event in events}


PROGRAM = """
import os, sys
def f():
    return 1
f()
print(os.environ.get("PYTHONPATH"), [path for path in sys.path if "inject" in path], "kymo" in sys.modules)
"""


def test_without_the_variables_nothing_is_loaded(installed, run):
    done = run(installed, "-c", "import sys; print([name for name in sys.modules if 'kymo' in name])")
    allowed = {"[]"} if sys.version_info < (3, 15) else {"['kymo', 'kymo._startup']", "['kymo._startup', 'kymo']"}
    assert done.stdout.strip() in allowed
    assert done.stderr == ""


def test_kymo_1_records_an_installed_python(installed, run, complete, events, tmp_path):
    (tmp_path / "app.py").write_text(PROGRAM)
    done = run(installed, "app.py", env={"KYMO": "1", "KYMO_OUTPUT": "a.kymo", "KYMO_EVENTS": "LINE",
                                         "KYMO_OMIT": "*/site.py:*nothing*"})
    assert done.stderr == ""
    seen = events(complete(tmp_path / "a.kymo"))
    assert {"<module>", "f"} <= functions(seen)
    assert {event["event"] for event in seen} == {"LINE"}


def test_kymo_1_records_what_the_program_starts(installed, run, complete, events, tmp_path):
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'def child(): pass\\nchild()'], check=True)"
    run(installed, "-c", program, env={"KYMO": "1", "KYMO_OUTPUT": "a.kymo"})
    run(installed, "-c", program, env={"KYMO": "1", "KYMO_OUTPUT": "b.kymo", "KYMO_NO_SUBPROCESSES": "1"})
    assert "child" in functions(events(complete(tmp_path / "a.kymo")))
    assert "child" not in functions(events(complete(tmp_path / "b.kymo")))


def test_kymo_1_with_a_wrong_option_says_so_and_the_program_runs(installed, run):
    done = run(installed, "-c", "print('runs')", env={"KYMO": "1", "KYMO_EVENTS": "NOPE"})
    assert done.stdout == "runs\n"
    assert done.stderr.startswith("kymo: this Python is not recorded: ") and done.stderr.count("\n") == 1


def test_a_session_that_is_over_is_ignored(installed, run, tmp_path):
    done = run(installed, "-c", "import os; print(os.environ.get('KYMO_SESSION'))",
               env={"KYMO_SESSION": tmp_path / "gone"})
    assert (done.stdout, done.stderr) == ("None\n", "")


def test_record_reaches_a_python_without_kymo(record, events, kymo, tmp_path):
    (tmp_path / "app.py").write_text(PROGRAM)
    trace = tmp_path / "a.kymo"
    done = kymo("record", "-qo", trace, tmp_path / "app.py")
    path, inject, is_imported = done.stdout.split()
    assert path.endswith("/inject") and (inject, is_imported) == ("[]", "False")
    assert "f" in functions(events(trace))


def test_record_without_subprocesses_gives_the_environment_back(kymo, tmp_path):
    program = "import os; print(os.environ.get('PYTHONPATH'), os.environ.get('KYMO_SESSION'))"
    for path in None, "/a:/b":
        done = kymo("record", "-q", "--no-subprocesses", "-c", program, env={"PYTHONPATH": path}, cwd=tmp_path)
        assert done.stdout == f"{path} None\n"


def test_installed_and_injected_is_recorded_once(installed, kymo, events, tmp_path):
    trace = tmp_path / "a.kymo"
    kymo("record", "-qo", trace, "-c", "def f(): pass\nf()", env={"KYMO_PYTHON": installed})
    starts = [event for event in events(trace) if event.get("function") == "f" and event["event"] == "PY_START"]
    assert len(starts) == 1


def test_the_next_sitecustomize_runs(kymo, events, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("def mine(): print('mine')\nmine()\n")
    trace = tmp_path / "a.kymo"
    done = kymo("record", "-qo", trace, "-c", "import sys; print(sys.modules['sitecustomize'].__file__)",
                env={"PYTHONPATH": folder})
    assert done.stdout == f"mine\n{folder / 'sitecustomize.py'}\n"
    assert done.stderr == ""
    assert "mine" in functions(events(trace))


def test_no_sitecustomize_is_left_where_there_is_none(kymo, installed, tmp_path):
    program = "import sys; print('sitecustomize' in sys.modules)"
    plain = subprocess.run([installed, "-c", program], env=environment(), capture_output=True, text=True)
    done = kymo("record", "-q", "-c", program, env={"KYMO_PYTHON": installed}, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (plain.stdout, "")


def test_a_broken_extension_is_told_and_the_program_runs(build, tmp_path):
    package = tmp_path / "kymo"
    (package / "inject").mkdir(parents=True)
    (package / "inject" / "sitecustomize.py").write_text((ROOT / "pyext/kymo/inject/sitecustomize.py").read_text())
    done = subprocess.run([sys.executable, "-c", "print('runs')"], capture_output=True, text=True, timeout=TIMEOUT,
                          env=environment({"PYTHONPATH": package / "inject", "KYMO_SESSION": tmp_path}))
    assert (done.returncode, done.stdout) == (0, "runs\n")
    assert done.stderr.startswith("kymo: this Python is not recorded: ") and done.stderr.count("\n") == 1


SUBINTERPRETER = """
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    def run(text):
        id = interpreters.create(%r)
        assert interpreters.run_string(id, text) is None
        interpreters.destroy(id)
else:
    import _xxsubinterpreters as interpreters
    def run(text):
        id = interpreters.create(isolated=%r)
        interpreters.run_string(id, text)
        interpreters.destroy(id)
def outer():
    for i in range(3):
        run("def inner(): return 1\\nfor i in range(5): inner()")
outer()
"""


@pytest.mark.parametrize("has_own_gil", [True, False])
def test_subinterpreters_are_recorded(record, events, has_own_gil):
    modern = "isolated" if has_own_gil else "legacy"
    trace = record(SUBINTERPRETER % (modern, has_own_gil))
    inner = [event["event"] for event in events(trace) if event.get("function") == "inner"]
    assert inner == ["PY_START", "LINE", "PY_RETURN"] * 15


def test_subinterpreters_in_threads(record, events):
    trace = record(SUBINTERPRETER.replace("\nouter()\n", "\n") % ("isolated", True) + textwrap.dedent("""
        import threading
        threads = [threading.Thread(target=outer) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """))
    inner = [event["event"] for event in events(trace) if event.get("function") == "inner"]
    assert inner.count("PY_START") == inner.count("PY_RETURN") == 60


@pytest.mark.skipif(sys.version_info >= (3, 15), reason="a .start file takes its place")
def test_a_broken_installation_is_one_line(python, tmp_path):
    """Though site reads the .pth files of a virtual environment twice."""
    subprocess.run([python, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, env=environment())
    packages, = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    shutil.copy(ROOT / "pyext" / "kymo.pth", packages)
    done = subprocess.run([tmp_path / "venv" / "bin" / "python", "-c", "print('runs')"], capture_output=True, text=True,
                          env=environment({"KYMO": 1}))
    assert (done.returncode, done.stdout) == (0, "runs\n")
    assert done.stderr == "kymo: this Python is not recorded: No module named 'kymo'\n"


def test_an_installation_without_its_extension_is_one_line(python, tmp_path):
    """By .pth, or from Python 3.15 on by .start; a program that is not to be recorded never hears of it."""
    subprocess.run([python, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, env=environment())
    packages, = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    for name in "kymo.pth", "kymo.start":
        shutil.copy(ROOT / "pyext" / name, packages)
    shutil.copytree(ROOT / "pyext" / "kymo", packages / "kymo")
    for env in {"KYMO": 1}, {"KYMO_SESSION": tmp_path}, {}:
        done = subprocess.run([tmp_path / "venv" / "bin" / "python", "-c", "print('runs')"], capture_output=True, text=True,
                              env=environment(env))
        assert (done.returncode, done.stdout) == (0, "runs\n")
        assert done.stderr.count("\n") == bool(env) and "Traceback" not in done.stderr
        assert not env or done.stderr.startswith("kymo: this Python is not recorded: cannot import name '_kymo'"), done.stderr
