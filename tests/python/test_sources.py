# SPDX-License-Identifier: Apache-2.0
"""Source files in the trace, held against the bytes of the files themselves."""
import json
import os
import pty
import re
import signal
import struct
import subprocess
import time
from collections import namedtuple

import pytest

from conftest import KYMO, TIMEOUT, environment
from kymo_model import Trace

Source = namedtuple("Source", "state bytes why")

# In a program: STOPPED holds the reader until RUNNING, so that it finds files as they are then.
READER = """
import os, signal, struct, sys
def reader(number):
    with open(os.environ["KYMO_SESSION"] + "/session", "rb") as page:  # reader_pid of struct kymo_session_page
        os.kill(struct.unpack_from("<I", page.read(80), 76)[0], number)
STOPPED, RUNNING = signal.SIGSTOP, signal.SIGCONT
"""


@pytest.fixture(scope="session")
def sources(kymo):
    """sources(trace): {name: Source} as `kymo source` lists them, without those that processes have of their own."""
    line = re.compile(r"(verified|unverified|missing) +([\d,]+|-)  (.*?)(?:, of process (\d+))?(?:: (.*))?")

    def read(trace):
        found = {}
        for text in kymo("source", trace).stdout.splitlines():
            state, size, name, pid, why = line.fullmatch(text).groups()
            if not pid:
                found[name] = Source(state, int(size.replace(",", "")) if size != "-" else None, why)
        return found
    return read


@pytest.fixture(scope="session")
def text_of(kymo):
    """text_of(trace, file): the bytes that `kymo source` prints."""
    return lambda trace, file, *options: kymo("source", *options, trace, file, text=False).stdout


@pytest.fixture
def settle(tmp_path):
    """Let the clock of the file system go on until what was written before is older than what starts now."""
    def wait():
        clock = tmp_path / "clock"
        clock.write_text("")
        before = clock.stat().st_ctime_ns
        while clock.stat().st_ctime_ns < before + 50_000_000:
            clock.write_text("")
    return wait


def wait_for(is_there):
    until = time.monotonic() + TIMEOUT
    while not is_there():
        assert time.monotonic() < until


@pytest.mark.parametrize("content", [
    b"def f():\n    return 1\n",
    b"x = 1",
    b"",
    b"# -*- coding: latin-1 -*-\r\ntext = '\xe4\xff'\r\n",
    b"\xef\xbb\xbf# a byte order mark\nx = '\xe2\x82\xac \xe2\x80\xae'\n\x0c\ny = 2\n",
    b"rows = [\n" + b"    'a rather long row of no interest',\n" * 30000 + b"]\n",
])
def test_the_text_is_that_of_the_file(content, record, sources, text_of, tmp_path):
    (tmp_path / "module.py").write_bytes(content)
    trace = record("import module")
    (tmp_path / "module.py").write_text("raise SystemExit\n")
    assert text_of(trace, tmp_path / "module.py") == content
    assert sources(trace)[str(tmp_path / "module.py")].bytes == len(content)


def test_a_file_may_change_as_soon_as_it_was_imported(python, sources, text_of, tmp_path):
    """What runs for long has its sources read while it runs."""
    module, trace = tmp_path / "module.py", tmp_path / "t.kymo"
    module.write_text("before = 1\n")
    (tmp_path / "program.py").write_text("import module\nprint(flush=True)\ninput()\n")
    command = [KYMO, "record", "-q", "-o", trace, tmp_path / "program.py"]
    with subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as recording:
        recording.stdout.readline()
        wait_for(lambda: str(module) in sources(f"{trace}.incomplete"))
        module.write_text("after = 2\n")
        recording.communicate(b"\n")
    assert text_of(trace, "module.py") == b"before = 1\n"


def test_files_that_are_older_than_the_process_are_verified(record, sources, settle, tmp_path):
    (tmp_path / "module.py").write_text("x = 1\n")
    (tmp_path / "program.py").write_text("import module\n")
    settle()
    # Not cached: neither of them has a .pyc.
    found = sources(record([tmp_path / "program.py"], env={"PYTHONDONTWRITEBYTECODE": 1}))
    assert not (tmp_path / "__pycache__").exists()
    assert {found[str(tmp_path / name)].state for name in ("module.py", "program.py")} == {"verified"}


def test_a_template_is_not_called_verified(python, record, sources, settle, tmp_path):
    """The lines are those of code that somebody made from it."""
    for name in "page.html", "script.txt", "tool":
        (tmp_path / name).write_text("x = 1\n")
    settle()
    trace = record("import os\nfor name in 'page.html', 'tool':\n"
                   "    exec(compile('y = 2', os.path.dirname(__file__) + '/' + name, 'exec'))")
    found = sources(trace)
    assert [found[str(tmp_path / name)].state for name in ("page.html", "tool")] == ["unverified", "verified"]
    assert sources(record([python, tmp_path / "script.txt"]))[str(tmp_path / "script.txt")].state == "verified"


LATE = """
import os, sys
from pathlib import Path
module = Path(__file__).with_name("module.py")
module.write_text("def f():\\n    return 1\\n")
clock = module.with_name("clock")
clock.write_text("")
while clock.stat().st_ctime_ns <= module.stat().st_ctime_ns:
    clock.write_text("")
import module
"""


@pytest.mark.parametrize("is_cached", [True, False])
def test_a_younger_file_is_verified_by_the_bytecode_that_python_cached(is_cached, record, sources, tmp_path):
    found = sources(record(LATE, env={} if is_cached else {"PYTHONDONTWRITEBYTECODE": 1}))
    assert found[str(tmp_path / "module.py")].state == ("verified" if is_cached else "unverified")


CHANGES = READER + """
from pathlib import Path
reader(STOPPED)
try:
    import module
    path = Path(module.__file__)
    before = path.stat()
    path.write_text(sys.argv[1])
    if len(sys.argv) > 2:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
finally:
    reader(RUNNING)
"""


@pytest.mark.parametrize("changed", [["x = 1\ny = 2\n"], ["x = 2\n"], ["x = 2\n", "same time"]])
@pytest.mark.parametrize("is_cached", [True, False])
def test_a_file_that_is_changed_after_its_import_is_unverified(changed, is_cached, record, sources, text_of, settle,
                                                               tmp_path):
    """Also if the cached bytecode seems to be of the new file, by its time and size."""
    (tmp_path / "module.py").write_text("x = 1\n")
    (tmp_path / "program.py").write_text(CHANGES)
    settle()
    trace = record([tmp_path / "program.py", *changed], "--policy=drop",
                   env={} if is_cached else {"PYTHONDONTWRITEBYTECODE": 1})
    assert text_of(trace, tmp_path / "module.py") == changed[0].encode()
    assert sources(trace)[str(tmp_path / "module.py")].state == "unverified"


def test_the_code_of_a_forked_child_is_as_old_as_its_parent(record, sources, settle, tmp_path):
    """The parent had compiled what only the child runs."""
    (tmp_path / "module.py").write_text("x = 1\n")
    settle()
    trace = record(READER + """
from pathlib import Path
path = Path(__file__).with_name("module.py")
code = compile(path.read_text(), path, "exec")
reader(STOPPED)
path.write_text("x = 3\\n")
if not os.fork():
    exec(code)
    os._exit(0)
os.wait()
reader(RUNNING)
""", "--policy=drop")
    assert sources(trace)[str(tmp_path / "module.py")].state == "unverified"


def test_so_is_that_of_a_child_whose_parent_is_not_recorded(python, importing, sources, tmp_path):
    (tmp_path / "module.py").write_text("def f(): return 1\n")
    (tmp_path / "program.py").write_text("""
import kymo, module, os
from pathlib import Path
path = Path(module.__file__)
path.write_text("def f(): return 2\\n")
clock = path.with_name("clock")
clock.write_text("")
while clock.stat().st_ctime_ns < path.stat().st_ctime_ns + 50_000_000:
    clock.write_text("")
if not os.fork():
    with kymo.record("t.kymo"):
        module.f()
    os._exit(0)
os.wait()
""")
    subprocess.run([python, "program.py"], cwd=tmp_path, check=True, timeout=TIMEOUT,
                   env=environment(importing | {"PYTHONDONTWRITEBYTECODE": 1}))
    assert sources(tmp_path / "t.kymo")[str(tmp_path / "module.py")].state == "unverified"


COMPILES = """
import sys
for name in sys.argv[1:]:
    exec(compile("x = 1", name, "exec"))
"""


def test_why_a_text_is_missing(record, sources, text_of, kymo, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "largest").write_bytes(b"#" * (4 << 20))
    (tmp_path / "larger").write_bytes(b"#" * (4 << 20 | 1))
    wanted = {
        tmp_path / "nothing.py": "no such file",
        tmp_path / "largest" / "below.py": "no such file",
        tmp_path: "not a regular file",
        tmp_path / "fifo": "not a regular file",
        "/dev/zero": "not a regular file",
        tmp_path / "larger": "larger than 4 MB",
        "<made up>": "not recorded",
        "<stdin>": "not recorded",
        "<string>": "not recorded",
        "x" * 300: "name too long",
    }
    (tmp_path / "compiles.py").write_text(COMPILES)
    trace = record([tmp_path / "compiles.py", *wanted, tmp_path / "largest"])
    found = sources(trace)
    assert {name: found[str(name)] for name in wanted} == {
        name: ("missing", None, why) for name, why in wanted.items()}
    assert text_of(trace, tmp_path / "largest") == (tmp_path / "largest").read_bytes()
    done = kymo("source", trace, "nothing.py", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"kymo: {tmp_path / 'nothing.py'}: no such file\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(record, sources, tmp_path):
    (tmp_path / "secret.py").write_text("x = 1\n")
    (tmp_path / "secret.py").chmod(0)
    trace = record(f"exec(compile('x = 1', {str(tmp_path / 'secret.py')!r}, 'exec'))")
    assert sources(trace)[str(tmp_path / "secret.py")].why == "permission denied"


def test_links_are_followed(record, text_of, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "module.py").write_text("x = 1\n")
    (tmp_path / "link").symlink_to("real")
    trace = record("import sys, os\nsys.path.insert(0, os.path.dirname(__file__) + '/link')\nimport module")
    assert text_of(trace, "link/module.py") == b"x = 1\n"


def test_sources_take_no_more_than_a_quarter_of_a_limited_trace(record, sources, events, tmp_path):
    (tmp_path / "module.py").write_text("#" * 300_000 + "\n")
    trace = record("import module\ndef last(): pass\nlast()", "--max-size=1M")
    assert sources(trace)[str(tmp_path / "module.py")].why == "too much source text"
    assert "last" in {event.get("function") for event in events(trace)}


@pytest.mark.parametrize("options, env, file", [
    (["--no-sources"], {}, ""), ([], {"KYMO_NO_SOURCES": "1"}, ""), ([], {}, "no-sources = true")])
def test_no_sources(options, env, file, record, sources, kymo, tmp_path):
    (tmp_path / "pyproject.toml").write_text(f"[tool.kymo]\n{file}\n")
    trace = record("x = 1", "--events=calls", *options, env=env, cwd=tmp_path)
    assert sources(trace) == {}
    assert not Trace(trace).of_run("source")
    assert "sources    0 held, 0 of them verified, 0 missing\n" in kymo("info", trace).stdout


@pytest.mark.parametrize("no_sources", [True, False])
def test_the_api_has_the_option(no_sources, python, importing, sources, tmp_path):
    (tmp_path / "program.py").write_text(
        f"import kymo\nwith kymo.record('t.kymo', no_sources={no_sources}):\n    exec('def f(): pass\\nf()')\n")
    subprocess.run([python, "program.py"], cwd=tmp_path, env=environment(importing), check=True, timeout=TIMEOUT)
    assert ("<string>" in sources(tmp_path / "t.kymo")) != no_sources


def test_info_counts_them(record, sources, kymo, tmp_path):
    trace = record("import json")
    states = [source.state for source in sources(trace).values()]
    counts = {"held": len(states) - states.count("missing"), "verified": states.count("verified"),
              "missing": states.count("missing")}
    assert json.loads(kymo("info", "--json", trace).stdout)["sources"] == counts
    assert "sources    {held} held, {verified} of them verified, {missing} missing\n".format(**counts) in \
        kymo("info", trace).stdout


def test_relative_names_are_those_of_the_process(python, record, sources, text_of, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("exec(compile('x = 1', 'name.py', 'exec'))\nimport os\nprint(os.getpid(), flush=True)\n")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "name.py").write_text(f"# of {folder}\n")
    trace = record(f"""
import subprocess, sys
with open("pids", "w") as pids:
    for folder in "aba":
        subprocess.run([sys.executable, {str(script)!r}], cwd=folder, stdout=pids)
""", "--events=calls", cwd=tmp_path)
    pids = (tmp_path / "pids").read_text().split()
    assert [text_of(trace, "name.py", f"--pid={pid}") for pid in pids] == [b"# of a\n", b"# of b\n", b"# of a\n"]
    assert text_of(trace, "name.py") == b"# of a\n"
    check_against_the_model(trace, text_of)


def test_each_process_has_the_file_as_it_was_then(record, text_of, tmp_path):
    trace = record("""
import subprocess, sys
from pathlib import Path
script = Path(__file__).with_name("script.py")
with open(script.with_name("pids"), "w") as pids:
    for number in (1, 2):
        script.write_text(f"number = {number}\\nimport os\\nprint(os.getpid(), flush=True)\\n")
        subprocess.run([sys.executable, script], stdout=pids)
""")
    first, second = (tmp_path / "pids").read_text().split()
    assert text_of(trace, "script.py", f"--pid={second}").startswith(b"number = 2\n")
    assert text_of(trace, "script.py", f"--pid={first}").startswith((b"number = 1\n", b"number = 2\n"))


def test_a_forked_child_has_the_sources_of_its_parent(record, text_of, tmp_path):
    (tmp_path / "module.py").write_text("def f(): pass\n")
    trace = record("""
import module, os
from pathlib import Path
if not os.fork():
    module.f()
    Path(__file__).with_name("pid").write_text(str(os.getpid()))
    os._exit(0)
os.wait()
""", "--events=calls")
    pid = (tmp_path / "pid").read_text()
    assert text_of(trace, "module.py", f"--pid={pid}") == b"def f(): pass\n"
    check_against_the_model(trace, text_of)


@pytest.mark.parametrize("words", [["-c"], ["-W", "ignore", "-Xutf8", "-bc"], ["--check-hash-based-pycs", "never", "-c"]])
def test_code_of_the_command_line(words, python, record, sources, text_of):
    code = "def f():\n    return '\u00fc'\nf()"
    trace = record([python, *words, code, "-c", "other"])
    assert text_of(trace, "<string>") == code.encode()
    assert sources(trace)["<string>"].state == "unverified"


def test_code_of_the_command_line_may_be_redacted(python, record, sources):
    trace = record([python, "-c", "-(token:=1)\nf = lambda: 1\nf()"])
    assert sources(trace)["<string>"].why == "redacted"
    assert b"token:=1" not in trace.read_bytes()


def test_a_killed_program_has_its_sources(record, text_of, tmp_path):
    (tmp_path / "module.py").write_text("x = 1\n")
    trace = record("import module, os, signal\nos.kill(os.getpid(), signal.SIGKILL)", status=-signal.SIGKILL)
    assert text_of(trace, "module.py") == b"x = 1\n"


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_salvaged_trace_has_its_sources(is_seen, sources, text_of, kymo, settle, tmp_path):
    """Those that the killed reader had stored, and those that it had not."""
    module, trace = tmp_path / "module.py", tmp_path / "t.kymo"
    module.write_text("x = 1\n")
    (tmp_path / "program.py").write_text(
        "import os, sys, module\nprint(os.environ['KYMO_SESSION'], flush=True)\nsys.stdin.read()\n")
    settle()
    command = [KYMO, "record", "-o", trace, "--policy=drop", tmp_path / "program.py"]
    with subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as recording:
        session = recording.stdout.readline().decode().strip()
        if is_seen:
            wait_for(lambda: str(module) in sources(f"{trace}.incomplete"))
            module.write_text("y = 2\n")
        with open(f"{session}/session", "rb") as page:
            os.kill(struct.unpack_from("<I", page.read(80), 76)[0], signal.SIGKILL)
        recording.communicate(b"", timeout=TIMEOUT)
    kymo("salvage", f"{trace}.incomplete")
    kymo("verify", trace)
    assert text_of(trace, "module.py") == b"x = 1\n"
    assert sources(trace)[str(module)].state == "verified"


def check_against_the_model(trace, text_of):
    model = Trace(trace)
    for process in model.processes.values():
        for _, content in process.tables["content"].values():
            if content["source"]:
                continue
            source = model.source(process, content["file"])
            if not source["missing"]:
                assert text_of(trace, content["file"], f"--pid={process.pid}") == source["text"]


def test_every_file_of_a_trace_has_a_source(record, sources, text_of):
    trace = record("import json, dataclasses, subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import ast'])",
                   "--events=calls")
    found = sources(trace)
    for process in Trace(trace).processes.values():
        assert process.tables["content"]
        assert {content["file"] for _, content in process.tables["content"].values() if not content["source"]} <= found.keys()
    check_against_the_model(trace, text_of)


def test_a_file_is_named_by_the_end_of_its_name(record, text_of, kymo, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "module.py").write_text(f"name = '{name}'\n")
    trace = record("from one import module\nfrom two import module\n")
    assert text_of(trace, "one/module.py") == b"name = 'one'\n"
    done = kymo("source", trace, "module.py", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"kymo: module.py is ambiguous: it may be {tmp_path}/one/module.py or {tmp_path}/two/module.py\n"
    done = kymo("source", trace, "odule.py", check=False)
    assert (done.returncode, done.stderr) == (1, "kymo: the trace has no source file odule.py\n")
    assert kymo("source", "--pid=1", trace, "one/module.py", check=False).returncode == 1


def test_what_steers_a_terminal_is_escaped_on_one(record, tmp_path):
    (tmp_path / "module.py").write_bytes(b"if 1:\n\tx = 1 # \x1b[31m \xe2\x80\xae \xff \xc3\xbc\n".replace(b" \xff", b""))
    trace = record("import module")
    pid, fd = pty.fork()
    if not pid:
        os.execve(KYMO, [str(KYMO), "source", str(trace), "module.py"], environment())
    seen = b""
    try:
        while part := os.read(fd, 65536):
            seen += part
    except OSError:  # the end, on Linux
        pass
    os.close(fd)
    assert os.waitpid(pid, 0)[1] == 0
    # The terminal shows a tab as spaces, or leaves it.
    assert re.fullmatch(rb"if 1:\r\n[\t ]+x = 1 # \\x1b\[31m \\u202e \xc3\xbc\r\n", seen)
