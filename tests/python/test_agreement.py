# SPDX-License-Identifier: Apache-2.0
"""Reports are those of coverage.py on the same run, and have all that a killed worker ran.  See coverage_oracle.py."""
import json
import subprocess
import sys
import zipfile

import pytest

import coverage_oracle
from conftest import TIMEOUT, environment

pytest.importorskip("coverage", minversion="7.17")
SUITE = {
    "shop/__init__.py": "",
    "shop/cart.py": """\
import asyncio
from functools import wraps

def logged(function):
    @wraps(function)
    def inner(*args): return function(*args)
    return inner

class Empty(Exception): pass

class Cart:
    rate: float = 1.2
    size = property(lambda self: len(
        self.prices))

    def __init__(self, *prices): self.prices = prices

    @logged
    def total(self, kind):
        match kind:
            case "net": return sum(self.prices)
            case "gross" if self.prices:
                return self.rate * sum(self.prices)
            case _: raise Empty(kind)

    async def each(self):
        for price in self.prices:
            yield price
            await asyncio.sleep(0)

async def collect(cart):
    found = []
    async for price in cart.each():
        if price > 2: continue
        found.append(price)
    async for price in cart.each(): found.append(price)
    return found
""",
    "tests/test_cart.py": """\
import asyncio, unittest
from shop.cart import Cart, Empty, collect

class CartTests(unittest.TestCase):
    def test_total(self):
        self.assertEqual(Cart(1, 2).total("net"), 3)
        with self.assertRaises(Empty):
            Cart().total("gross")

    def test_each(self):
        self.assertEqual(asyncio.run(collect(Cart(1, 3))), [1, 1, 3])

    def test_size(self): self.assertEqual(Cart(5).size, 1)

    @unittest.skip("not today")
    def test_never(self):
        assert False
""",
    "shop/unused.py": "def unused(x):\n    return x if x else None\n",
}


@pytest.mark.parametrize("profile", coverage_oracle.PROFILES)
def test_the_torture_file(profile, tmp_path):
    torture = coverage_oracle.TORTURE
    run = coverage_oracle.check([torture], [], torture.parent, [torture.parent], tmp_path, "ctrace", profile, TIMEOUT)
    assert run.result.kinds == run.others == [] and run.result.statements > 1000 and run.result.branches > 500
    assert not any(file.get("incomplete") for file in run.ours.values())


@pytest.mark.parametrize("profile", coverage_oracle.PROFILES)
@pytest.mark.parametrize("core", coverage_oracle.CORES)
def test_a_suite(core, profile, tmp_path):
    for name, text in SUITE.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project = tmp_path / "project"
    words = ["-m", "unittest", "discover", "-s", project / "tests"]
    run = coverage_oracle.check(words, [project], project, [project], tmp_path, core, profile, TIMEOUT)
    result = run.result
    assert result.kinds == run.others == [] and result.files == 4 and result.statements > 40 and result.branches > 8
    assert run.ours["shop/unused.py"]["missing_lines"] == [1, 2]


def test_an_empty_module_in_an_archive(kymo, record, tmp_path):
    """Nobody has its source; line 0, which its code has, is none of it."""
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("empty.py", "")
        packed.writestr("full.py", "x = 1\ny = 2\n")
    program = tmp_path / "program.py"
    program.write_text("import sys\nsys.path.insert(0, 'packed.zip')\nimport empty, full\n")
    trace = record([program], cwd=tmp_path)
    files = json.loads(kymo("coverage", "--format=json", "--include=packed.zip/*", trace, cwd=tmp_path).stdout)["files"]
    assert {name: file["executed_lines"] for name, file in files.items()} == {
        "packed.zip/empty.py": [], "packed.zip/full.py": [1, 2]}


def test_what_runs_after_coverage_py_has_stopped(tmp_path):
    """It stops at atexit; what the interpreter closes later runs as well."""
    program = tmp_path / "program.py"
    program.write_text("def numbers():\n    try:\n        yield 1\n    finally:\n        print('closed')\n"
                       "x = numbers()\nnext(x)\n")
    for profile in coverage_oracle.PROFILES:
        folder = tmp_path / profile
        folder.mkdir()
        run = coverage_oracle.check([program], [], tmp_path, [tmp_path], folder, "ctrace", profile, TIMEOUT)
        assert run.result.kinds == ["program.py: 5 executed with us, missing with them: print('closed')"]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python tells where they end")
def test_an_async_loop_that_is_left_by_break(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import asyncio\nasync def numbers():\n    yield 1\nasync def f():\n"
                       "    async for i in numbers():\n        break\n    return i\nasyncio.run(f())\n")
    for profile, kinds in (("flow", []), ("coverage", [
            "program.py: (5, 7) executed with us, missing with them: async for i in numbers():"])):
        folder = tmp_path / profile
        folder.mkdir()
        run = coverage_oracle.check([program], [], tmp_path, [tmp_path], folder, "ctrace", profile, TIMEOUT)
        assert run.result.kinds == kinds


PART = """\
import sys
import kymo
def short(x): return x + 1
later = lambda: (
    5)
def either(x): return x if x else None
def never(x): return x
class Some:
    def method(self): return 1
    @staticmethod
    def static(): return 4
def numbers(): yield from (1, 2)
with kymo.record(sys.argv[1], events=sys.argv[2]):
    short(1); later(); either(1); Some().method(); Some.static(); list(numbers())
"""


def test_functions_of_one_line_that_were_made_before_the_recording(kymo, importing, tmp_path):
    """Nothing but their own events tells that their lines ran: those of `flow` are rebuilt from the bytecode."""
    program = tmp_path / "program.py"
    program.write_text(PART)
    reports = []
    for profile in coverage_oracle.PROFILES:
        trace = tmp_path / f"{profile}.kymo"
        subprocess.run([sys.executable, program, trace, profile], check=True, env=environment(importing),
                       timeout=TIMEOUT)
        (file,) = json.loads(kymo("coverage", "--branch", "--format=json", f"--include={program}", trace).stdout)[
            "files"].values()
        reports.append([file[key] for key in coverage_oracle.COMPARED])
    assert reports[0] == reports[1]
    assert {3, 4, 6, 9, 11, 12} <= set(reports[0][0]) and {7, 8} <= set(reports[0][1])
    assert [3, -3] in reports[0][3] and [7, -7] in reports[0][4]


WORKER = """\
import multiprocessing, os, signal
seen = os.open("seen", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def w(line): os.write(seen, b"%d " % line)
def branch(n):
    if n % 2:
        w()
        return 1
    w()
    return 2
def work(end):
    w()
    for n in range(end):
        w()
        branch(n)
    w()
    if end == 3:
        w()
        last = 1
        os.kill(os.getpid(), signal.SIGKILL)
        never = 1
    w()
if __name__ == "__main__":
    for end in (0, 1, 3):
        process = multiprocessing.get_context(METHOD).Process(target=work, args=(end,))
        process.start()
        process.join()
    assert process.exitcode == -signal.SIGKILL
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("profile", coverage_oracle.PROFILES)
def test_a_worker_that_is_killed(method, profile, kymo, record, tmp_path):
    """All that it wrote to a file are lines that ran; where the last ones cannot be known, the report says so."""
    program = tmp_path / "program.py"
    lines = WORKER.replace("METHOD", repr(method)).splitlines()
    program.write_text("\n".join(line.replace("w()", f"w({n})") for n, line in enumerate(lines, 1)) + "\n")
    trace = record([program], f"--events={profile}", cwd=tmp_path)
    said = set(map(int, (tmp_path / "seen").read_text().split()))
    killed = lines.index("        os.kill(os.getpid(), signal.SIGKILL)") + 1
    assert {killed - 2} < said
    file = json.loads(kymo("coverage", "--format=json", trace, cwd=tmp_path).stdout)["files"]["program.py"]
    executed = set(file["executed_lines"])
    assert killed + 1 not in executed and not file.get("incomplete", False) == (profile == "coverage")
    unknown = {killed - 1, killed} if profile == "flow" else set()
    assert executed >= said and executed & {killed - 1, killed} == {killed - 1, killed} - unknown
    status = kymo("coverage", "--fail-under=1", trace, cwd=tmp_path, check=False).returncode
    assert status == (2 if profile == "flow" else 0)


@pytest.mark.parametrize("options", [(), ("--no-stdlib",)])
def test_where_code_is_left_out_the_starter_of_a_worker_is_not_incomplete(options, kymo, record, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import multiprocessing\ndef work():\n    return 1\nif __name__ == '__main__':\n"
                       "    process = multiprocessing.get_context('fork').Process(target=work)\n"
                       "    process.start()\n    process.join()\n")
    trace = record([program], *options)
    (file,) = json.loads(kymo("coverage", "--format=json", f"--include={program}", trace).stdout)["files"].values()
    assert not file.get("incomplete") and not file["missing_lines"]
