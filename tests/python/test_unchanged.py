# SPDX-License-Identifier: Apache-2.0
"""The recorder changes nothing that a program, or whoever started it, can notice."""
import json
import re
import subprocess
from pathlib import Path

import pytest

from conftest import environment

PROGRAMS = Path(__file__).parent / "programs"
ORACLE = sorted(path.stem for path in (PROGRAMS / "oracle").glob("*.py"))

ENDS = {
    "returns": "print('out')",
    "status": "import sys; sys.exit(3)",
    "large status": "import sys; sys.exit(256 + 7)",
    "negative status": "import sys; sys.exit(-1)",
    "text": "import sys; sys.exit('text')",
    "object": "import sys; sys.exit([1])",
    "exception": "def f():\n    raise KeyError('x')\nf()",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('y') from error",
    "group": "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])",
    "syntax": "def f(:\n    pass",
    "interrupt": "raise KeyboardInterrupt",
    "recursion": "def f(n):\n    return f(n + 1)\nf(0)",
    "depth": "def f(n):\n    try:\n        return f(n + 1)\n    except RecursionError:\n        return n\nprint(f(0))",
    "_exit": "import os; print('lost', end=''); os._exit(5)",
    "abort": "import os; os.abort()",
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "interrupted": "import os\nfrom signal import *\nsignal(SIGINT, SIG_DFL)\nos.kill(os.getpid(), SIGINT)",
    "segfault": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "faulthandler": "import faulthandler; faulthandler.enable(); faulthandler._sigsegv()",
    "killed": "import os, signal; print('out', flush=True); os.kill(os.getpid(), signal.SIGKILL)",
    "pipe": "import os\nfrom signal import *\nsignal(SIGPIPE, SIG_DFL)\nos.kill(os.getpid(), SIGPIPE)",
    "real time": "import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 3)",
    "thread": "from threading import Thread\nthread = Thread(target=lambda: 1 / 0)\nthread.start()\nthread.join()",
    "thread exits": "import sys, threading\nthread = threading.Thread(target=sys.exit)\nthread.start()",
    "atexit": "import atexit; atexit.register(print, 'end'); atexit.register(lambda: [][0])",
    "unraisable": "class C:\n    def __del__(self):\n        1 / 0\nC()",
    "excepthook": "import sys; sys.excepthook = lambda *a: print(a[0].__name__); raise KeyError",
    "warning": "import warnings; warnings.warn('careful'); [] is ()",
    "closed": "import sys; print('out'); sys.stdout.close()",
    "bytes": "import sys; sys.stdout.buffer.write(bytes(range(256)) * 300); sys.stderr.write('\\u20ac')",
    "passed to another interpreter": "from concurrent import interpreters\n"
                                     "def apply(function):\n    return function(1)\n"
                                     "def make():\n    return lambda value: value + 1\n"
                                     "function = make()\nfunction(1)\n"
                                     "other = interpreters.create()\nprint(other.call(apply, function))\nother.close()",
    "slots of code": "import ctypes\nfreed = []\nfree = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(freed.append)\n"
                     "ctypes.pythonapi.PyUnstable_Eval_RequestCodeExtraIndex(free)\n"
                     "exec('def f(): pass\\nf()', {})\nprint(freed)",
    "last words": "class C:\n    def __del__(self):\n        print('end')\nkept = C()",
}


def seen(done):
    """What a caller sees, without addresses; faulthandler lists C frames and extensions, as they are."""
    extras = rb"0x[0-9a-f]+|\nCurrent thread's C stack.*|\nExtension modules: kymo._kymo .*"
    errors = re.sub(extras, b"", done.stderr, flags=re.S)
    return done.returncode, done.stdout, errors


@pytest.fixture
def outcome(python):
    """outcome(words): returncode, output and messages of a program that nobody records."""
    def run(*words, env=None):
        words = list(map(str, (python, *words)))
        return seen(subprocess.run(words, env=environment(env), capture_output=True, timeout=300))
    return run


@pytest.fixture
def recorded(kymo, tmp_path):
    """recorded(words, "--events=LINE"): the same of a program that is recorded."""
    def run(words, *options, env=None):
        trace = tmp_path / "trace.kymo"
        return seen(kymo("record", "-q", "-f", "-o", trace, *options, *words, check=False, text=False, env=env))
    return run


@pytest.mark.parametrize("reader", ["left", "slow", "stopped", "killed"])
@pytest.mark.parametrize("policy", ["block", "drop", "overwrite"])
def test_no_update_is_lost(policy, reader, kymo, tmp_path):
    steps = 50_000
    words = ["--events=LINE", "--ring-size=64K", f"--policy={policy}", "-o", tmp_path / "trace.kymo"]
    done = kymo("record", *words, PROGRAMS / "lost_updates.py", steps, reader, check=False)
    # Without its reader there is no trace, and the launcher says so.
    assert (done.returncode, done.stdout) == (int(reader == "killed"), f"{4 * steps}\n"), done.stderr


@pytest.mark.parametrize("events", ["calls", "full"])
@pytest.mark.parametrize("end", ENDS)
def test_status_and_output(end, events, outcome, recorded, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(ENDS[end])
    assert recorded([program], f"--events={events}") == outcome(program)


@pytest.mark.parametrize("program", ORACLE)
def test_output_of_programs(program, outcome, recorded):
    path = PROGRAMS / "oracle" / f"{program}.py"
    plain = outcome(path)
    assert plain[0] == 0
    assert recorded([path], "--events=full") == plain


@pytest.mark.parametrize("events", ["calls", "full", "coverage"])
def test_reference_counts_and_garbage(events, outcome, recorded):
    assert recorded([PROGRAMS / "counts.py"], f"--events={events}") == outcome(PROGRAMS / "counts.py")


@pytest.mark.parametrize("events", ["calls", "full"])
def test_children_and_their_ends(events, outcome, recorded):
    status, out, errors = recorded([PROGRAMS / "children.py"], f"--events={events}")
    assert (status, out, errors) == outcome(PROGRAMS / "children.py")
    assert b"stranger" not in out and b"fork 3 9\n" in out


@pytest.mark.parametrize("more", [{}, {"PYTHONPATH": "/nowhere:/else"}], ids=["plain", "PYTHONPATH"])
def test_facts_about_the_process(more, outcome, recorded):
    """Kymo's variables and modules are there; all else is as it would be."""
    plain, seen = (json.loads(out) for _, out, _ in (
        outcome(PROGRAMS / "facts.py", env=more), recorded([PROGRAMS / "facts.py"], env=more)))
    path = seen["environment"].pop("PYTHONPATH").split(":", 1)
    assert path[0].endswith("/kymo/inject")
    assert path[1:] == list(more.values())
    plain["environment"].pop("PYTHONPATH", None)
    assert {name for name in seen["environment"] if name.startswith("KYMO")} > {"KYMO_SESSION"}
    for facts in (plain, seen):
        facts["environment"] = {k: v for k, v in facts["environment"].items() if not k.startswith("KYMO")}
    assert set(seen["modules"]) - set(plain["modules"]) == {"kymo._kymo"}
    seen["modules"].remove("kymo._kymo")
    for fact in plain:
        assert seen[fact] == plain[fact], fact


PROFILED = """
import contextlib, json
def squares(n):
    return [one(k) for k in range(n)]
def one(k):
    return len(str(k)) and k * k
def numbers(n):
    for k in range(n):
        with contextlib.suppress(KeyError):
            yield k if k % 2 else one(k)
class Some:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return True
with Some():
    raise ValueError(sum(squares(9)) + sum(numbers(5)), json.dumps([1]))
"""


@pytest.mark.parametrize("module", ["profile", "cProfile"])
@pytest.mark.parametrize("events", ["calls", "flow"])
def test_profilers_count_the_same(events, module, python, outcome, recorded, tmp_path):
    """On CPython 3.12 `profile` fails where the call of sys.setprofile() itself is watched."""
    program = tmp_path / "program.py"
    program.write_text(PROFILED)
    told = []
    for status, out, errors in (outcome("-m", module, program), recorded([python, "-m", module, program], f"--events={events}")):
        assert (status, errors) == (0, b"")
        told.append(sorted(re.findall(rb"^ +([0-9/]+) .* (program\.py:\d+\(.+\))$", out, re.M)))
    assert told[0] == told[1] and len(told[0]) > 6
