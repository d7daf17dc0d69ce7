# SPDX-License-Identifier: Apache-2.0
"""kymo replay with traces and indexes that are damaged, cut, foreign, or hold less than it would like."""
import json
import os
import random
import re
import shutil
import struct
import subprocess

import pytest
from conftest import KYMO, environment

import kymo as library

PROGRAM = """\
def f(n):
    return n

def main():
    for n in range(30000):
        f(n)

main()
"""
TOUR = "where\nrs 3\nrn 3\nrr\nrc\ngoto start\ns 3\nn\nr\nthreads\ninfo\nb f\nc\nc\nhits f\nhits f 20000\nlist\ngoto 50%\ngoto end\nrc\n"


def tour(kymo, trace, commands=TOUR, **how):
    """All kinds of moves; what matters here is that each is answered."""
    done = kymo("replay", trace, input=commands, check=False, **how)
    assert done.returncode in (0, 1) and "Sanitizer" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def whole(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    (folder / "program.py").write_text(PROGRAM)
    kymo("record", "-q", "-o", folder / "run.kymo", "--include=program.py", "--ring-size=8K", "program.py", cwd=folder)
    kymo("index", folder / "run.kymo")
    return folder / "run.kymo"


@pytest.fixture
def copy(whole, tmp_path):
    shutil.copy(whole, tmp_path / "run.kymo")
    return tmp_path / "run.kymo"


@pytest.fixture
def indexed(whole, copy):
    shutil.copy(f"{whole}-index", f"{copy}-index")
    return copy


@pytest.mark.parametrize("part", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_trace_that_was_cut(part, kymo, copy):
    size = int(copy.stat().st_size * part)
    os.truncate(copy, size)
    done = tour(kymo, copy)
    if size < 200:
        assert done.returncode == 1 and done.stderr.endswith("\nkymo: no events were recorded\n")
    else:
        assert "> " in done.stdout


def test_a_chunk_that_is_damaged(kymo, copy, events):
    """A step that leads into the gap says so, forwards and backwards, and what lies behind it can be reached."""
    bytes_of = bytearray(copy.read_bytes())
    middle = len(bytes_of) // 2
    for at in range(middle, middle + 8):
        bytes_of[at] ^= 0xff
    copy.write_bytes(bytes_of)
    told = events(copy)
    gap = next(event for event in told if event["event"] == "GAP")
    before = max(event["n"] for event in told if event["n"] < gap["n"])
    behind = next(event for event in told if event["n"] > gap["n"] and event["event"] == "LINE")
    done = kymo("replay", copy, input=f"goto #{before}\nevent\nevent\nreverse-event\n")
    assert done.stdout.count(f"--Missing-- {gap['lost']:,} events lost: damaged\n") == 2
    assert re.fullmatch(r"kymo: damage at offset \d+, \d+ bytes: checksum does not match\n", done.stderr)
    done = kymo("replay", copy, input=f"goto #{behind['n'] + 10}\ninfo\n")
    assert re.search(rf"^event +{behind['n'] + 10}: ", done.stdout, re.M)
    done = kymo("replay", copy, input=f"b f\ngoto #{gap['n']}\nc\ninfo\n")
    first = next(event for event in told if event["n"] > gap["n"] and event["event"] == "PY_START")
    assert re.search(rf"^event +{first['n']}: PY_START$", done.stdout, re.M)
    tour(kymo, copy)


def test_a_version_that_is_not_known(kymo, copy):
    bytes_of = bytearray(copy.read_bytes())
    bytes_of[8:12] = struct.pack("<I", 77)
    copy.write_bytes(bytes_of)
    done = kymo("replay", copy, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"kymo: {copy}: trace version 77; this kymo reads version 1\n"


def test_what_is_no_trace(kymo, tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello " * 100)
    for name in "empty", "text", "nothing", "":
        done = kymo("replay", tmp_path / name, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    done = kymo("replay", tmp_path / "text", "more", check=False)
    assert done.returncode == 2


def test_lines_that_were_not_recorded_are_not_told(kymo, record):
    trace = record("def f():\n    g()\ndef g():\n    1 / 0\nf()\n", "--events=calls", status=1)
    done = kymo("replay", trace, input="where\nrs\n")
    assert "(line not known)<module>()\n" in done.stdout and "(4)g()\n" in done.stdout
    assert "--End-- " in done.stdout  # there is no line to step to
    assert "ran 0 times" in kymo("replay", trace, input="b 4\n").stdout
    assert "called 1 time\n" in kymo("replay", trace, input="b g\n").stdout


def test_lines_alone(kymo, record):
    """Who called whom is not known then."""
    trace = record("def f():\n    return 1\n\nf()\nf()\n", "--events=LINE", "--include=program*")
    done = kymo("replay", trace, input="rs\nrs\nwhere\nup\nb 2\nrc\nhits 2\nr\nrr\nn\nrn\n", check=False)
    assert "(2)f()\n-> return 1\n" in done.stdout
    assert "ran 2 times\n" in done.stdout and "Breakpoint 1\n" in done.stdout
    tour(kymo, trace)


def test_code_that_was_left_out_is_not_there(kymo, tmp_path):
    (tmp_path / "one.py").write_text("import two\ndef call(f):\n    return f()\ntwo.run(call)\n")
    (tmp_path / "two.py").write_text("def inner():\n    return 1\ndef run(call):\n    return call(inner)\n")
    kymo("record", "-q", "-o", tmp_path / "run.kymo", "--include=one.py", tmp_path / "one.py", cwd=tmp_path)
    done = kymo("replay", tmp_path / "run.kymo", input="b two.py:2\nb inner\nb call\nrc\nwhere\n")
    assert "no line of such a file ran" in done.stdout and "no function of this name" in done.stdout
    assert re.search(r"> \S+one\.py\(2\)call\(\)", done.stdout)


def test_sources_that_are_missing(kymo, record):
    trace = record("def f():\n    return 1\nf()\n", "--no-sources")
    done = kymo("replay", trace, input="goto start\ns\nlist\n", check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("the trace does not hold this source")
    assert "-> " not in done.stdout


def test_sources_that_are_not_verified(kymo, tmp_path):
    """`list` says so where the text may not be what ran; whether it is verified is what `kymo source` says."""
    (tmp_path / "program.py").write_text("def f():\n    return 1\n\nf()\n")
    kymo("record", "-q", "-o", tmp_path / "run.kymo", "program.py", cwd=tmp_path)
    with library.open(tmp_path / "run.kymo") as opened:
        _, is_verified = opened.source(tmp_path / "program.py")
    done = kymo("replay", tmp_path / "run.kymo", input="b f\nrc\nlist\nlist 3,4\n")
    assert done.stdout.count("(not verified: ") == (not is_verified)


def test_deep_recursion(kymo, record):
    program = "import sys\nsys.setrecursionlimit(9000)\ndef f(n):\n    if n:\n        f(n - 1)\n    else:\n        1 / 0\nf(3000)\n"
    trace = record(program, "--ring-size=8K", status=1)
    frames = [line for line in kymo("replay", trace, input="where\n").stdout.splitlines() if re.match(r"[> ] .*\(\)$", line)][1:]
    assert len(frames) == 3002
    assert frames[0].endswith("(8)<module>()") and frames[-1].endswith("(7)f()")
    assert all(frame.endswith("(5)f()") for frame in frames[1:-1])
    done = kymo("replay", trace, input="up 3000\nup\nup\ndown 2500\ndown 2500\nw\n", check=False)
    assert "this is the outermost frame\n" in done.stdout
    assert done.stdout.count("(8)<module>()") == 2 and done.stdout.count("(7)f()") == 3
    tour(kymo, trace)


@pytest.mark.parametrize("profile, last", [("full", "(3)f()\n-> os.kill"), ("flow", "line 3 may have run")])
def test_a_program_that_was_killed(profile, last, kymo, record):
    """It begins at the last event; behind what was recorded last it says what may have run."""
    program = "import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGKILL)\nf()\n"
    trace = record(program, f"--events={profile}", "--include=program*", status=-9)
    done = kymo("replay", trace, input="info\n")
    assert "SIGKILL" in done.stdout and last in done.stdout
    tour(kymo, trace)


def test_several_processes(kymo, record, events):
    """A forked child, and a subprocess: each thread of each process is one of the trace's."""
    program = """
import os, subprocess, sys
def child():
    return os.getpid()
pid = os.fork()
if not pid:
    child()
    os._exit(0)
os.waitpid(pid, 0)
subprocess.run([sys.executable, "-c", "def other():\\n    pass\\nother()"])
child()
"""
    trace = record(program, "--no-stdlib", "--clock=exact") # what one process did before another is known
    pids = {event["pid"] for event in events(trace)}
    assert len(pids) == 3
    done = kymo("replay", trace, input="threads\n")
    assert {int(pid) for pid in re.findall(r"process (\d+), thread", done.stdout)} == pids
    done = kymo("replay", trace, input="goto start\nb child\nc\nc\nb other\nrc\nhits child\n")
    assert "called 2 times" in done.stdout and "Breakpoint 2" in done.stdout
    assert len(set(re.findall(r"^\[process (\d+), ", done.stdout, re.M))) >= 2
    for number in range(1, 4):
        tour(kymo, trace, f"thread {number}\n" + TOUR)


def answers(kymo, trace, **how):
    return kymo("replay", trace, input="b f\ngoto start\nc\nc\nhits f 20000\ninfo\n", **how).stdout


def test_an_index_that_is_damaged_is_made_anew(kymo, indexed):
    wanted, sound = answers(kymo, indexed), (indexed.parent / "run.kymo-index").read_bytes()
    index, choose = indexed.parent / "run.kymo-index", random.Random(5)
    damaged = [(at, sound[:at] + bytes([sound[at] ^ 1 << choose.randrange(8)]) + sound[at + 1:])
               for at in [*range(0, 112, 9), *(choose.randrange(112, len(sound)) for _ in range(12)), len(sound) - 1]]
    damaged += [(size, sound[:size]) for size in (0, 1, 111, 112, 200, len(sound) // 2, len(sound) - 1)]
    damaged += [(-1, sound + b"\0"), (-2, bytes(len(sound))), (-3, random.Random(6).randbytes(5000))]
    for at, hostile in damaged:
        index.write_bytes(hostile)
        assert answers(kymo, indexed) == wanted, at
        # What was made anew is kept.
        assert index.stat().st_size == len(sound), at


def test_an_index_of_another_trace_is_not_believed(kymo, indexed, record):
    wanted = answers(kymo, indexed)
    other = record("def f():\n    pass\nf()\n")
    kymo("index", other)
    shutil.copy(f"{other}-index", f"{indexed}-index")
    assert answers(kymo, indexed) == wanted


def test_an_index_that_is_no_file(kymo, copy, tmp_path):
    (tmp_path / "run.kymo-index").mkdir()
    wanted = answers(kymo, copy, env={"XDG_CACHE_HOME": tmp_path / "cache"})
    (tmp_path / "run.kymo-index").rmdir()
    os.mkfifo(tmp_path / "run.kymo-index")
    assert answers(kymo, copy, env={"XDG_CACHE_HOME": tmp_path / "cache"}) == wanted
    (tmp_path / "run.kymo-index").unlink()
    # What it is a link to is not Kymo's to replace.
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "run.kymo-index").symlink_to(tmp_path / "precious")
    assert answers(kymo, copy) == wanted
    assert (tmp_path / "precious").read_text() == "precious"


def test_where_nothing_can_be_written(kymo, copy, tmp_path):
    """The cache has the index then, or nobody."""
    prefix = []
    if os.geteuid() == 0:
        # Root without capabilities is held up by permissions, as everybody is.
        prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
        if not shutil.which("setpriv") or subprocess.run([*prefix, "true"], capture_output=True).returncode:
            pytest.skip("root may write everywhere, and there is no setpriv")
    cache = tmp_path / "cache"
    cache.mkdir()
    tmp_path.chmod(0o555)
    try:
        def ask(cache):
            done = subprocess.run([*prefix, KYMO, "replay", copy], input="b f\nhits f\n", text=True, capture_output=True,
                                  env=environment({"XDG_CACHE_HOME": cache, "HOME": cache}))  # fmt: skip
            assert (done.returncode, done.stderr) == (0, "")
            return done.stdout

        first = ask(cache)
        assert [path.name[-11:] for path in (cache / "kymo").iterdir()] == [".kymo-index"]
        assert ask(cache) == ask("/nowhere/at/all") == first
        assert not (tmp_path / "run.kymo-index").exists()
    finally:
        tmp_path.chmod(0o755)


def test_several_make_the_index_at_once(kymo, copy, tmp_path):
    makers = [subprocess.Popen([KYMO, "replay", copy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=environment()) for _ in range(6)]
    told = {maker.communicate("b f\nhits f\n") for maker in makers}
    assert len(told) == 1 and next(iter(told))[1] == ""
    assert [path.name for path in tmp_path.iterdir() if "index" in path.name] == ["run.kymo-index"]
    before = (tmp_path / "run.kymo-index").stat().st_mtime_ns
    answers(kymo, copy)
    assert (tmp_path / "run.kymo-index").stat().st_mtime_ns == before


def test_a_trace_that_changed_has_another_index(kymo, indexed):
    os.truncate(indexed, indexed.stat().st_size * 2 // 3)
    done = tour(kymo, indexed)
    count = json.loads(kymo("events", "--jsonl", indexed).stdout.splitlines()[-1])["n"]
    assert f"event    {count}" in kymo("replay", indexed, input="goto end\ninfo\n").stdout and done.stdout
