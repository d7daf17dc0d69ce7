# SPDX-License-Identifier: Apache-2.0
"""A deterministic program, its recordings and exports, and what cProfile says of it: fixtures of tests of profiles."""

import marshal
import subprocess
import sys

import pytest

# What is deterministic of a program, as a function of no argument.
PROGRAM = '''
import sys

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n != 0 and even(n - 1)

def numbers(n):
    for i in range(n):
        yield fib(3) + i

def tree(depth):
    if depth:
        yield from tree(depth - 1)
        yield depth

class Wait:
    def __await__(self):
        yield
        return 1

async def nested(depth):
    return await Wait() if not depth else await nested(depth - 1)

def drive(coroutine):
    while True:
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value

def throwing(n):
    if not n:
        raise KeyError(n)
    throwing(n - 1)

def catcher():
    try:
        throwing(20)
    except KeyError:
        return True

def closing():
    generator = numbers(10)
    next(generator)
    try:
        generator.throw(ValueError)
    except ValueError:
        pass
    early = numbers(10)
    next(early)
    early.close()

def quick(values):
    return sorted(values, key=lambda value: -value)

def everything():
    fib(12)
    even(9)
    sum(numbers(7))
    list(tree(4))
    drive(nested(5))
    catcher()
    closing()
    quick([3, 1, 2])
    exec(compile("def named():\\n    pass\\nnamed()\\nnamed()", "<a;b\\n\\x1b[31m>", "exec"), {})

if __name__ == "__main__":
    everything()
'''

ORACLE = '''
import cProfile, runpy, sys
profile = cProfile.Profile(builtins=len(sys.argv) > 3 and sys.argv[3] == "c")
names = runpy.run_path(sys.argv[1])
profile.enable()
names["everything"]()
profile.disable()
profile.dump_stats(sys.argv[2])
'''

FORMATS = ("pprof", "callgrind", "gprof", "pstats", "collapsed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("profiles")


@pytest.fixture(scope="module")
def program(folder):
    path = folder / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def record(kymo, folder):
    def run(program, *options, status=0):
        trace = folder / f"trace-{len(list(folder.iterdir()))}.kymo"
        done = kymo("record", "-q", "-o", trace, *options, "--", program, check=False)
        assert done.returncode == status, done.stderr
        return trace
    return run


@pytest.fixture(scope="module")
def trace(record, program):
    return record(program, "--clock=exact")


@pytest.fixture(scope="module")
def export(kymo, folder):
    from kymo.profile.export import main

    def run(trace, form, *options):
        out = folder / f"{trace.name}.{len(list(folder.iterdir()))}.{form}"
        assert main(["export", f"format={form}", f"output={out}", *(option.removeprefix("--") for option in options), "--", str(trace)], "0") == 0
        return out
    return run


@pytest.fixture(scope="module")
def oracle(folder, program):
    """cProfile's statistics of main(), as pstats reads them."""
    script = folder / "oracle.py"
    script.write_text(ORACLE)
    def run(*options):
        out = folder / "oracle.pstats"
        subprocess.run([sys.executable, script, program, out, *options], check=True)
        return marshal.loads(out.read_bytes())
    return run


def read(trace, **options):
    from kymo.profile._tree import Slice, read

    lines = options.pop("lines", False)
    return read(trace, Slice(**options), lines=lines)


def of_program(stats, program):
    """What everything() of the program did: cProfile was enabled after the module had run."""
    return {key: value for key, value in stats.items() if key[0] == str(program) and key[2] not in ("<module>", "Wait")}
