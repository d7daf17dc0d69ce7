# SPDX-License-Identifier: Apache-2.0
"""Those who recording depends on are stopped, killed, or told to end: the program goes on, the trace is kept."""
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import KYMO, environment
from streams import lost, shape

PROGRAMS = Path(__file__).parent / "programs"
HEAD = """
import os, signal, sys
from family import reader_pid
def step(n):
    return n + 1
def work(times):
    n = 0
    for _ in range(times):
        n = step(n)
"""
HERE = {"PYTHONPATH": PROGRAMS}


@pytest.fixture
def start(tmp_path):
    """start(text, options): a recording under way, whose standard streams are pipes; it is ended with the test."""
    begun = []

    def run(text, *options, **how):
        program = tmp_path / "program.py"
        program.write_text(HEAD + text)
        words = [KYMO, "record", "-o", tmp_path / "trace.kymo", *options, program]
        how = {"env": environment(HERE), "stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
               "stderr": subprocess.PIPE, "text": True, "start_new_session": True} | how
        begun.append(subprocess.Popen(list(map(str, words)), **how))
        return begun[-1]

    yield run
    for recording in begun:
        if recording.poll() is None:
            os.killpg(recording.pid, signal.SIGKILL)
            recording.wait()


@pytest.fixture
def reference(record, events):
    """What work() is when nobody is killed."""
    def run(text, *options):
        seen = events(record(HEAD + text, *options, env=HERE))
        return [shape(event)[2:] for event in seen]
    return run


def wait_for(path):
    while not path.exists():
        os.sched_yield()
    return path


def salvage(kymo, done, tmp_path):
    """Do what the last line of `kymo record` says."""
    message, = [line for line in done.splitlines() if "kymo salvage" in line]
    session = message.split("kymo salvage ")[1].split()[0]
    kymo("salvage", session)
    assert not Path(session).exists()
    return tmp_path / "trace.kymo"


@pytest.mark.parametrize("policy", ["block", "drop", "overwrite"])
def test_the_reader_is_killed(policy, start, kymo, events, tmp_path):
    """All that fits the ring is salvaged, and the rest is counted."""
    recording = start("""
work(20_000)
os.kill(reader_pid(), signal.SIGKILL)
work(20_000)
print("done")
""", "--events=calls,LINE", "--include=program.py", f"--policy={policy}", "--ring-size=2M")
    out, errors = recording.communicate(timeout=120)
    assert (recording.returncode, out) == (1, "done\n")
    seen = events(salvage(kymo, errors, tmp_path))
    n = 0
    for event in seen:
        assert event["n"] == n + 1
        n += event.get("lost", 1)
    steps = [event for event in seen if event.get("function") == "step" and event["event"] == "LINE"]
    assert not lost(seen) and len(steps) == 40_000


def test_the_reader_is_killed_and_another_one_started(start, kymo, events, tmp_path):
    recording = start(f"""
import subprocess
work(20_000)
reader = reader_pid()
os.kill(reader, signal.SIGKILL)
work(20_000)
subprocess.run([{str(KYMO)!r}, "_read", "--session", os.environ["KYMO_SESSION"], "--owner", str(os.getpid())], check=True)
assert reader_pid() not in (0, reader)
work(200_000)
""", "--events=calls,LINE", "--include=program.py", "--ring-size=2M")
    recording.communicate(timeout=120)
    assert recording.returncode == 0
    seen = events(wait_for(tmp_path / "trace.kymo"), "--function", "step", "--kind", "LINE,GAP")
    assert not lost(seen) and len(seen) == 240_000


def test_kymo_itself_is_killed(start, events, tmp_path):
    """The program goes on, and the reader closes the trace when it has ended."""
    recording = start("""
work(1000)
print("ready", flush=True)
sys.stdin.readline()
work(1000)
""", "--events=LINE", "--include=program.py")
    assert recording.stdout.readline() == "ready\n"
    recording.kill()
    recording.wait()
    recording.stdin.write("go\n")
    recording.stdin.close()
    assert len(events(wait_for(tmp_path / "trace.kymo"), "--function", "step")) == 2000


@pytest.fixture
def hangs_up():
    """SIGHUP ends what is started, also where the tests themselves were started by nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangs_up")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT])
def test_signals_to_kymo_are_passed_on(number, start, events, tmp_path):
    recording = start("""
signal.signal(signal.SIGINT, signal.default_int_handler)
work(1000)
print("ready", flush=True)
while True:
    os.sched_yield()
""")
    assert recording.stdout.readline() == "ready\n"
    recording.send_signal(number)
    assert recording.wait(60) == -number
    assert ("KeyboardInterrupt" in recording.stderr.read()) == (number == signal.SIGINT)
    assert len(events(tmp_path / "trace.kymo", "--function", "step", "--kind", "PY_START")) == 1000


def test_a_handler_in_the_program_decides(start, events, tmp_path):
    recording = start("""
is_handled = False
def handler(number, frame):
    global is_handled
    is_handled = True
    os.write(1, b"handled\\n")
signal.signal(signal.SIGTERM, handler)
print("ready", flush=True)
while not is_handled:  # in readline() a signal that came just before waits for the next one
    os.sched_yield()
work(int(sys.stdin.readline()))
sys.exit(7)
""")
    assert recording.stdout.readline() == "ready\n"
    recording.terminate()
    assert recording.stdout.readline() == "handled\n"
    out, _ = recording.communicate("1000\n", timeout=60)
    assert (recording.returncode, out) == (7, "")
    seen = events(tmp_path / "trace.kymo")
    assert [e["event"] for e in seen if e["function"] == "handler"] == [
        "PY_START", "LINE", "LINE", "PY_RETURN"]


class Terminal:
    """A recording on a terminal of its own."""

    def __init__(self, program, trace):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execve(KYMO, [str(KYMO), "record", "-q", "-o", str(trace), str(program)], environment(HERE))
        self.text = ""

    def read_until(self, text):
        while text not in self.text:
            self.text += os.read(self.fd, 4096).decode()

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self):
        try:
            while read := os.read(self.fd, 4096):
                self.text += read.decode()
        except OSError:  # the other side is closed
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_control_c_ends_the_program_and_keeps_the_trace(events, tmp_path):
    program, trace = tmp_path / "program.py", tmp_path / "trace.kymo"
    program.write_text(HEAD + """
print("ready")
try:
    while True:
        work(1000)
finally:
    work(7)
""")
    terminal = Terminal(program, trace)
    terminal.read_until("ready")
    terminal.type("\x03")
    assert terminal.wait() == -signal.SIGINT
    assert "KeyboardInterrupt" in terminal.text
    last = events(trace, "--file", "program.py")[-1]
    assert (last["event"], last["function"], last["exception"]) == ("PY_UNWIND", "<module>", "KeyboardInterrupt")


def test_control_c_reaches_the_program_once(events, tmp_path):
    program, trace = tmp_path / "program.py", tmp_path / "trace.kymo"
    program.write_text(HEAD + """
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
print("ready")
input()
work(1000)
print("seen", len(seen))
sys.exit(4)
""")
    terminal = Terminal(program, trace)
    terminal.read_until("ready")
    terminal.type("\x03")
    terminal.read_until("^C")
    terminal.type("go\n")
    assert terminal.wait() == 4
    assert "seen 1\r\n" in terminal.text
    assert len(events(trace, "--function", "step", "--kind", "PY_START")) == 1000
