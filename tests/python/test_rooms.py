# SPDX-License-Identifier: Apache-2.0
"""Little memory, few permissions, strange places: the program runs, and what is missing is counted."""
import json
import subprocess
from pathlib import Path

import pytest

from conftest import KYMO, environment
from rooms import in_mounts, memory_group, needs_mounts, needs_namespaces, needs_root
from streams import lost, threads_of

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def write(tmp_path):
    """write(text): a program's file."""
    def run(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return path
    return run


@pytest.fixture
def info(kymo):
    def read(trace):
        return json.loads(kymo("info", "--json", trace).stdout)
    return read


def words(trace, *rest):
    return [KYMO, "record", "-q", "-o", trace, *rest]


def check_ordinals(events):
    """Each thread's ordinals go from 1 to the end, what is lost included; return the ends."""
    ends = []
    for stream in threads_of(events).values():
        n = 0
        for event in stream:
            assert event["n"] == n + 1
            n += event.get("lost", 1)
        ends.append(n)
    return ends


CROWD = """
import threading
barrier = threading.Barrier(500)
def step(n):
    return n + 1
def work():
    barrier.wait()
    n = 0
    for _ in range(100):
        n = step(n)
    barrier.wait()
    done.append(n)
done = []
workers = [threading.Thread(target=work) for _ in range(500)]
for worker in workers: worker.start()
for worker in workers: worker.join()
print(len(done), sum(done))
"""


@needs_mounts
@pytest.mark.parametrize("megabytes", [64, 4])
def test_five_hundred_threads_in_a_small_shm(megabytes, write, info, events, tmp_path):
    trace = tmp_path / "trace.kymo"
    done = in_mounts(f"mount -t tmpfs -o size={megabytes}m tmpfs /dev/shm",
                     words(trace, "--events=calls,LINE", "--include=program.py", write(CROWD)))
    assert (done.returncode, done.stdout) == (0, "500 50000\n")
    process, = info(trace)["processes"]
    main, *others = process["threads"]
    recorded = [thread for thread in others if not thread["lost"]]
    assert len(others) == 500 and len({thread["events"] + thread["lost"] for thread in others}) == 1
    assert len(others) - len(recorded) == process["threads_unrecorded"]
    assert len(recorded) == 500 if megabytes == 64 else 10 < len(recorded) < 500
    assert main["lost"] == 0
    steps = threads_of(events(trace, "--function", "step"))
    assert len(steps) == len(recorded) and {len(stream) for stream in steps.values()} == {300}


@needs_mounts
@pytest.mark.parametrize("mounts", [
    "mount -t tmpfs -o ro tmpfs /dev/shm",
    "mount -t tmpfs -o size=4k tmpfs /dev/shm",
    "mount -t tmpfs -o nr_inodes=1 tmpfs /dev/shm",
], ids=["read-only", "no room", "no inodes"])
def test_another_place_is_found_for_the_session(mounts, write, events, tmp_path):
    trace = tmp_path / "trace.kymo"
    done = in_mounts(mounts, words(trace, write("def f(): pass\nf()")))
    assert (done.returncode, done.stderr) == (0, "")
    assert "f" in {event["function"] for event in events(trace)}


@pytest.mark.parametrize("place", ["/proc", "/nowhere/at/all", "/dev/null"])
def test_no_place_for_the_session_is_one_line(place, kymo, tmp_path):
    done = kymo("record", "-o", tmp_path / "trace.kymo", f"--session-dir={place}", "-c", "print('runs')", check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("kymo: ") and done.stderr.count("\n") == 1 and place in done.stderr
    assert not list(tmp_path.iterdir())


@needs_mounts
def test_a_session_directory_that_fills_up(write, info, events, tmp_path):
    """By somebody else; threads that come later are counted."""
    trace = tmp_path / "trace.kymo"
    done = in_mounts("mount -t tmpfs -o size=8m tmpfs /mnt", words(
        trace, "--session-dir=/mnt", "--events=calls,LINE", "--include=program.py", write("""
import os, threading
def step(n):
    return n + 1
def work():
    n = 0
    for _ in range(30_000):
        n = step(n)
    done.append(n)
done = []
work()
with open("/mnt/full", "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError as error:
        print(error.strerror)
work()
workers = [threading.Thread(target=work) for _ in range(10)]
for worker in workers: worker.start()
for worker in workers: worker.join()
os.unlink("/mnt/full")
print(sum(done))
""")))
    assert (done.returncode, done.stdout) == (0, "No space left on device\n360000\n")
    process, = info(trace)["processes"]
    main, *others = process["threads"]
    assert main["lost"] == 0 and process["threads_unrecorded"] > 0
    assert len({thread["events"] + thread["lost"] for thread in others}) == 1
    check_ordinals(events(trace))


@needs_mounts
def test_a_full_disk_ends_the_trace_and_not_the_program(write, kymo, info, events, tmp_path):
    text = """
def step(n):
    return n * n
total = 0
for n in range(200_000):
    total += step(n)
print(total)
"""
    copy = tmp_path / "copy.kymo"
    trace = "/mnt/trace.kymo"
    done = in_mounts("mount -t tmpfs -o size=128k tmpfs /mnt", [
        "sh", "-c", '"$0" "$@"; status=$?; cp /mnt/trace.kymo* "$KEEP"; exit $status',
        *words(trace, "--events=calls,LINE,INSTRUCTION", "--include=program.py", write(text))],
        env=environment({"KEEP": copy}))
    assert (done.returncode, done.stdout) == (0, f"{sum(n * n for n in range(200_000))}\n")
    assert copy.stat().st_size <= 128 << 10
    about = info(copy)
    assert "disk full" in about["ending"] and about["damaged"] == 0
    assert about["lost"] > 0 and list(about["lost_why"]) == ["storage"]
    assert kymo("verify", copy).returncode == 0
    gap, = events(copy, "--kind", "GAP")
    assert gap["n"] == about["events"] + 1 and gap["lost"] == about["lost"]
    assert about["events"] + about["lost"] > 200_000 * 10


def test_a_size_limit_does_the_same(record, kymo, info, events):
    trace = record("""
def step(n):
    return n * n
for n in range(200_000):
    step(n)
""", "--events=calls,LINE,INSTRUCTION", "--max-size=128K", "--include=program-1.py")
    about = info(trace)
    assert trace.stat().st_size <= 128 << 10
    assert "size limit" in about["ending"] and list(about["lost_why"]) == ["storage"]
    gap, = events(trace, "--kind", "GAP")
    assert gap["n"] == about["events"] + 1 and gap["lost"] == about["lost"]
    assert about["events"] + about["lost"] > 200_000 * 10


@pytest.mark.parametrize("output, says", [("missing/trace.kymo", "No such file"), ("/proc/trace.kymo", "/proc")])
def test_an_output_that_cannot_be_written_is_told_before_the_program_starts(output, says, kymo, tmp_path):
    done = kymo("record", "-o", output, "-c", "print('runs')", check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kymo: ") and done.stderr.count("\n") == 1 and says in done.stderr
    assert not list(tmp_path.iterdir())


def test_little_memory_for_the_group(write, info, tmp_path):
    trace = tmp_path / "trace.kymo"
    program = write("""
import threading
def step(n):
    return n + 1
def work():
    n = 0
    for _ in range(50_000):
        n = step(n)
workers = [threading.Thread(target=work) for _ in range(20)]
for worker in workers: worker.start()
for worker in workers: worker.join()
""")
    with memory_group(200) as group:
        script = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
        subprocess.run(["sh", "-c", script, group, *words(trace, "--events=calls,LINE", program)], check=True,
                       env=environment(), timeout=300)
        used = [int((group / name).read_text()) for name in ("memory.max_usage_in_bytes", "memory.peak")
                if (group / name).exists()]
    assert all(peak < 150 << 20 for peak in used)
    about = info(trace)
    assert about["lost"] == 0 and about["events"] > 20 * 50_000 * 5


PRIVATE = """
import os, sys, threading
def step(n):
    return n + 1
def work(times):
    n = 0
    for _ in range(times):
        n = step(n)
    return n
def thread():
    worker = threading.Thread(target=work, args=(1000,))
    worker.start()
    worker.join()
def fork():
    pid = os.fork()
    if not pid:
        os._exit(work(1000) % 7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
work(1000)
thread()
CHANGE
print(work(50_000), thread(), fork(), work(1000))
"""


@needs_root
@pytest.mark.parametrize("change", ["os.setgroups([]); os.setgid(65534); os.setuid(65534)", "os.chroot(sys.argv[1])"],
                         ids=["another user", "chroot"])
def test_privileges_that_are_dropped(change, record, write, events, tmp_path):
    """What was made before goes on; the program does not notice what cannot be made."""
    (tmp_path / "root").mkdir()
    trace = record([write(PRIVATE.replace("CHANGE", change)), tmp_path / "root"], "--events=calls,LINE", "--include=program.py")
    seen = events(trace)
    assert not lost(seen)
    main = seen[0]["pid"], seen[0]["tid"]
    steps = [e for e in threads_of(seen)[main] if e["function"] == "step" and e["event"] == "PY_START"]
    assert len(steps) == 52_000


def test_without_pidfd(python, write, info, events, tmp_path):
    trace = tmp_path / "trace.kymo"
    program = write("""
import os, signal
def step(n):
    return n + 1
for n in range(3):
    pid = os.fork()
    if not pid:
        for i in range(5000):
            step(i)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
raise SystemExit(5)
""")
    done = subprocess.run([python, PROGRAMS / "without_pidfd.py", *words(trace, "--include=program.py", program)],
                          env=environment(), timeout=300)
    if done.returncode == 77:
        pytest.skip("no seccomp filter can be set")
    assert done.returncode == 5
    root, *children = info(trace)["processes"]
    assert root["end"] == "exited with status 5" and len(children) == 3
    assert {child["end"] for child in children} <= {"killed by SIGKILL", "ended; its status is not known"}
    for child in children:
        assert len(events(trace, "--process", child["pid"], "--function", "step", "--kind", "PY_START,PY_RETURN")) == 10_000


@needs_namespaces
def test_a_child_in_its_own_pid_namespace(record, info, events):
    trace = record("""
import subprocess, sys
code = "import os\\ndef inside(): return os.getpid()\\nassert inside() == 1"
subprocess.run(["unshare", "--pid", "--fork", sys.executable, "-c", code], check=True)
""")
    outer, inner = info(trace)["processes"]
    assert outer["end"] == "exited with status 0"
    assert inner["pid"] == 1 and inner["end"] in ("exited with status 0", "ended; its status is not known")
    inside = events(trace, "--process", 1, "--function", "inside")
    assert [event["event"] for event in inside] == ["PY_START", "LINE", "PY_RETURN"]


@needs_namespaces
def test_a_child_in_its_own_pid_namespace_that_ends_before_the_reader_looks(record, info, events, tmp_path):
    """Its number means nothing here, and it is gone: that it has ended is known all the same, not guessed after a while."""
    programs = Path(__file__).parent / "programs"
    trace = record(f"""
import os, signal, subprocess, sys
sys.path.append({str(programs)!r})
from family import reader_pid
reader = reader_pid()
code = "import os\\ndef inside(): return os.getpid()\\nassert inside() == 1"
os.kill(reader, signal.SIGSTOP)
while open(f"/proc/{{reader}}/stat").read().rsplit(") ")[1][0] != "T":
    os.sched_yield()
subprocess.run(["unshare", "--pid", "--fork", sys.executable, "-c", code], check=True)
os.kill(reader, signal.SIGCONT)
""")
    outer, inner = info(trace)["processes"]
    assert outer["end"] == "exited with status 0"
    assert inner["pid"] == 1 and inner["end"] == "ended; its status is not known"
    inside = events(trace, "--process", 1, "--function", "inside")
    assert [event["event"] for event in inside] == ["PY_START", "LINE", "PY_RETURN"]
