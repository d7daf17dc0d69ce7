# SPDX-License-Identifier: Apache-2.0
"""kymo diff: what it tells beside the place at which two runs parted."""
import re

import pytest
from test_diff import diff, last_line, line_of, run  # noqa: F401

PREFIX = """
import contextlib, sys
class Cleaner:
    def __enter__(self): pass
    def __exit__(self, *error): return False
def fail():
    if int(sys.argv[1]):
        raise KeyError  # planted
"""
HANDLED = {
    "caught": """
def act():
    try:
        fail()
    except KeyError:  # handler
        pass  # handler
act()
""",
    "of several": """
def act():
    for _ in range(3):
        try:
            fail()
        except (ValueError, OSError):  # handler
            return 1
        except LookupError:  # handler
            continue  # handler
act()
""",
    "behind a finally, with and an except of another": """
def act():
    try:
        fail()
    finally:
        print("through")
def other():
    try:
        with Cleaner():
            act()
    except OSError:
        pass
try:
    other()
except:  # handler
    print("done")  # handler
""",
    "behind a finally of the same function": """
def act():
    try:
        try:
            fail()
        finally:
            print("through")
    except KeyError:  # handler
        pass  # handler
act()
""",
    "raised again": """
def act():
    try:
        fail()
    except KeyError:
        print("told")
        raise
try: act()
except KeyError: print("caught")  # handler
""",
    "another is raised": """
def act():
    try:
        fail()
    except KeyError as error:  # handler
        raise ValueError from error  # handler
try: act()
except ValueError: pass
""",
    "suppressed": """
def act():
    with contextlib.suppress(KeyError):  # handler
        fail()
    return 1  # handler
act()
""",
    "by code that is not Python's": """
import weakref
class Thing: pass
thing = Thing()
dying = weakref.ref(thing, lambda _: fail())
del thing
print("ignored")
""",
    "by nobody": "fail()",
    "by a thread": "import threading\nthread = threading.Thread(target=fail)\nthread.start()\nthread.join()",
    "by a generator": """
def act():
    try:
        yield fail()
    except KeyError:  # handler
        yield 0  # handler
list(act())
""",
}


@pytest.mark.parametrize("profile", ["flow", "full"])
@pytest.mark.parametrize("kind", HANDLED)
def test_where_an_exception_went(kind, profile, run, diff):
    program = PREFIX + HANDLED[kind]
    report = diff(run(program, 0, f"--events={profile}"), run(program, 1, f"--events={profile}"))
    raised = report["differences"][0]["fail"]["exception"]
    assert (raised["type"], raised["line"]) == ("KeyError", line_of(program))
    lines = [number for number, line in enumerate(program.splitlines(), 1) if "# handler" in line]
    told = [line["line"] for line in raised["handler"] or []]
    # What comes behind the handler is told, too, up to three lines.
    assert told[:len(lines)] == lines and bool(told) == bool(lines) and len(told) <= 3


CHOICE = """
import json, sys
def one(_): return 1  # one
def two(_):
    # comment
    return 2  # two
[one, two, json.dumps][int(sys.argv[1])]({})
"""


@pytest.mark.parametrize("profile", ["flow", "full"])
def test_what_a_call_that_only_one_side_has_begins_with(profile, run, diff):
    first = diff(*(run(CHOICE, number, f"--events={profile}") for number in (0, 1)))["differences"][0]
    for side, name in ("pass", "one"), ("fail", "two"):
        following = first[side]["next"]
        assert (following["called"], following["body"]["function"]) == (name, name)
        assert following["body"]["line"] == line_of(CHOICE, f"# {name}")
    of_library = diff(run(CHOICE, 0), run(CHOICE, 2))["differences"][0]["fail"]["next"]["body"]
    assert of_library["function"] == "dumps" and of_library["library"]


def test_the_text_has_both(run, kymo):
    text = kymo("diff", run(CHOICE, 0), run(CHOICE, 1), check=False).stdout
    assert re.search(r"FAIL.*calls two .*\n +begins at .*program.py:6 two\n +6  return 2  # two\n", text)
    program = PREFIX + HANDLED["caught"]
    text = kymo("diff", run(program, 0), run(program, 1), check=False).stdout
    assert re.search(r"FAIL raised KeyError at .*\n +it went to \S*program.py:13 act\n +13  except KeyError:.*\n +14  pass", text)


def test_an_exception_that_comes_out_of_a_library_behind_a_branch(run, diff):
    """It is told where it came out, in what only one side did, and where the library raised it."""
    program = """
import json, sys
def read(text):
    if text:
        return json.loads(text)  # planted
try: read(["", "{"][int(sys.argv[1])])
except ValueError: pass
"""
    first, *others = diff(run(program, 0), run(program, 1))["differences"]
    raised = first["fail"]["exception"]
    assert (raised["type"], raised["line"]) == ("JSONDecodeError", line_of(program))
    assert raised["handler"][0]["line"] == line_of(program, "except ValueError")
    assert "decoder.py" in " ".join(each["fail"]["exception"]["file"] for each in others if each["library"])


LOOPS = """
import sys
outer, middle, inner = map(int, sys.argv[1].split(","))
flag = outer > 0
def extra(n):
    for m in range(2): n += m
    return n
def act():
    for i in range(2): extra(i)
    for i in range(4):  # outer
        for j in range(3):  # middle
            extra(j)
            while j < 3:
                j += 1
        else:
            for k in range(5):  # not around it
                extra(k)
        for j in range(i + 2):  # another
            try:
                for k in reversed(range(6)):  # inner
                    if (i, j, 5 - k) == (outer, middle, inner):  # planted
                        print("reached")
            finally:
                extra(0)
act()
"""


@pytest.mark.parametrize("at", [(1, 0, 0), (1, 2, 5), (2, 3, 1), (3, 0, 4)])
def test_the_loops_around_a_difference(at, run, diff):
    report = diff(run(LOOPS, "-1,0,0"), run(LOOPS, ",".join(map(str, at))))
    first = report["differences"][0]
    assert last_line(first) == line_of(LOOPS)
    outer, another, inner = at
    assert [(loop["line"], loop["round"]) for loop in first["fail"]["loops"]] == [
        (line_of(LOOPS, "# inner"), inner + 1), (line_of(LOOPS, "# another"), another + 1), (line_of(LOOPS, "# outer"), outer + 1)]


def test_rounds_of_a_generator_that_was_resumed_are_not_known(run, diff, kymo):
    program = """
import sys
def numbers():
    for n in range(5):  # loop
        if n == 2 and int(sys.argv[1]):  # planted
            n = -1
        yield n
sum(numbers())
"""
    passed, failed = run(program, 0), run(program, 1)
    loop, = diff(passed, failed)["differences"][0]["fail"]["loops"]
    assert (loop["line"], loop["round"]) == (line_of(program, "# loop"), None)
    assert re.search(r"\n     in the loop\n +4  for n in", kymo("diff", passed, failed, check=False).stdout)
    # There is no bytecode in a recording of full.
    assert not diff(*(run(program, flag, "--events=full") for flag in (0, 1)))["differences"][0]["fail"]["loops"]


def test_what_is_no_library(run, diff, tmp_path):
    package = tmp_path / "here" / "lib" / "site-packages" / "parcel"
    package.mkdir(parents=True)
    (package / "inner.py").write_text("def pick(flag):\n    if flag:\n        return 1\n    return 2\n")
    (package / "__init__.py").write_text("from parcel.inner import pick\n")
    program = """
import sys
sys.path.insert(0, "lib/site-packages")
import parcel
flag = int(sys.argv[1])
parcel.pick(flag)
if flag:  # planted
    pass
"""
    traces = run(program, 0), run(program, 1)
    for names, is_own in (((), False), (("parcel",), True), (("parcel.inner",), True), ((str(package),), True), ((f"{package}/",), True),
                          (("other", "parcel"), True), (("parc",), False), (("parcel.in",), False), (("inner",), False)):
        first, second = diff(*traces, *(f"--source={name}" for name in names))["differences"]
        assert last_line(first) == (2 if is_own else line_of(program)), names
        assert (first["library"], second["library"]) == (False, not is_own), names
