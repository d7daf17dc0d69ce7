# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests fail in a recorded interpreter only where they fail with any monitoring tool.

    cpython_suite.py [--events calls] [--keep FOLDER] [module…]     or: ./dev cpython-suite

runs each module of the standard library's `test` plain, with a tool whose callbacks do nothing, and recorded
by KYMO=1, and compares which tests fail.  The tool has the tool id and the events that Kymo has, and both are
in every child process: a virtual environment has the one as an installation does, the other by a .pth file.
What fails only when recorded is run twice more in both ways.  Each trace must pass `kymo verify`.

The status is 1 if a test fails each time that it is recorded, and only then.  There are no exceptions:
test_monitoring, which wants every tool id for itself, fails in the same tests with any tool.
"""
import argparse
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

import environments

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("KYMO_BUILD_DIR", "build/dev")
KYMO = BUILD / "bin" / "kymo"
TIMEOUT = 300

MODULES = """
    test_generators test_coroutines test_asyncgen test_exceptions test_exception_group test_except_star test_raise
    test_sys_settrace test_sys_setprofile test_monitoring test_gc test_weakref test_code test_frame test_dis
    test_compile test_peepholer test_opcache test_syntax test_scope test_grammar test_call test_patma test_with
    test_yield_from test_traceback
    test_dict test_set test_descr test_class test_super test_iter test_itertools test_functools test_inspect
    test_contextlib test_contextlib_async test_context test_contextvars test_types test_typing test_builtin test_sys
    test_threading test_thread test_threading_local test_queue test_sched test_signal test_fork1 test_wait3
    test_subprocess test_faulthandler test_atexit test_cmd_line test_finalization test_utf8_mode
    test_interpreters test__interpreters test__xxsubinterpreters test_concurrent_futures.test_thread_pool
    test_concurrent_futures.test_future test_concurrent_futures.test_interpreter_pool
    test_multiprocessing_fork.test_threads test_multiprocessing_fork.test_misc
    test_asyncio.test_tasks test_asyncio.test_taskgroups test_asyncio.test_locks test_asyncio.test_queues
    test_asyncio.test_subprocess test_bdb test_pdb test_trace test_profile test_cprofile test_unittest test_doctest
    test_importlib test_import test_runpy test_zipapp test_site test_json test_re test_pickle test_copy test_enum
""".split()

# Left out: they end the interpreter under any tool that asks for INSTRUCTION, and the module's other tests with it.
CRASHES = ["test.test_code.CodeTest.test_invalid_bytecode"]

NOTHING = """
import os, sys
def monitor(names):
    try:
        from _nothing import Callback
        callback = Callback(0, False)
    except ImportError: # a sub-interpreter with its own GIL
        callback = "".format
    tools = sys.monitoring
    tools.use_tool_id(5, "nothing")
    events = [getattr(tools.events, name) for name in names.split(",")]
    for event in events:
        tools.register_callback(5, event, callback)
    tools.set_events(5, sum(events) & ~(tools.events.C_RETURN | tools.events.C_RAISE))
if "DO_NOTHING" in os.environ and not sys.monitoring.get_tool(3):
    monitor(os.environ["DO_NOTHING"])
"""


def names_of(profile):
    """The events of a profile, as sys.monitoring names them."""
    wanted = "PY_START PY_RESUME PY_THROW PY_RETURN PY_YIELD PY_UNWIND RAISE RERAISE".split()
    known = [name for name in vars(sys.monitoring.events) if name.isupper() and name != "NO_EVENTS"]
    if hasattr(sys.monitoring.events, "BRANCH_LEFT"):
        known.remove("BRANCH")
    return ",".join(name for name in known if profile == "full" or name in wanted)


def make_venv(folder):
    """An interpreter in which Kymo and the tool that does nothing are installed."""
    python = environments.make(folder, BUILD, shared=[BUILD / "bench"])
    site = environments.site_of(folder)
    (site / "nothing_tool.py").write_text(NOTHING)
    (site / "nothing.pth").write_text("import nothing_tool\n")
    return python


class Suite:
    def __init__(self, folder, events):
        self.folder = folder
        self.python = make_venv(folder / "venv")
        self.nothing = {"DO_NOTHING": names_of(events)}
        self.recorded = {"KYMO": "1", "KYMO_EVENTS": events, "KYMO_PROGRAM": KYMO}
        self.runs = 0

    def run(self, module, more):
        """The failures of @module, by name, and the number of its tests."""
        self.runs += 1
        place = self.folder / f"{self.runs}-{module}"
        place.mkdir()
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("KYMO", "PYTHON"))}
        environment |= {name: str(text) for name, text in more.items()} | {"TMPDIR": str(place)}
        trace = place / "trace.kymo"
        if "KYMO" in more:
            environment["KYMO_OUTPUT"] = str(trace)
        words = [self.python, "-m", "test", "--fail-env-changed", "--randseed=1", f"--junit-xml={place}/tests.xml"]
        words += [f"--ignore={name}" for name in CRASHES]
        with open(place / "log", "wb") as log:
            child = subprocess.Popen([*words, module], cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=log, start_new_session=True)
            try:
                status = child.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                status = "timeout"
            try:
                os.killpg(child.pid, signal.SIGKILL) # what the tests left, too
            except ProcessLookupError:
                pass
            child.wait()
        failures, count = self.read(place / "tests.xml")
        if status and not failures:
            last = (place / "log").read_text(errors="replace").splitlines()[-30:]
            failures[f"test.{module}"] = "\n".join([f"status {status}", *last])
        if "KYMO" in more and (error := self.verify(trace)):
            failures[f"trace of {module}"] = error
        return failures, count

    @staticmethod
    def read(path):
        if not path.exists():
            return {}, 0
        suites = ElementTree.parse(path).getroot()
        failures = {}
        for case in suites.iter("testcase"):
            for problem in *case.findall("failure"), *case.findall("error"):
                failures[re.sub(r"0x[0-9a-f]+", "0x", case.get("name"))] = problem.text or ""
        return failures, int(suites.get("tests", 0))

    @staticmethod
    def verify(trace):
        """What is wrong with @trace, once the reader has closed it."""
        end = time.monotonic() + 60
        while not trace.exists():
            if time.monotonic() > end:
                return "the trace was not closed within a minute"
            time.sleep(0.05)
        done = subprocess.run([KYMO, "verify", trace], capture_output=True, text=True)
        trace.unlink()
        return done.stdout + done.stderr if done.returncode else ""

    def compare(self, module):
        """Print what the three runs of @module say; whether something fails only when recorded, and how many tests."""
        plain, count = self.run(module, {})
        with_tool, _ = self.run(module, self.nothing)
        recorded, _ = self.run(module, self.recorded)
        suspects = {name: 1 for name in recorded.keys() - plain.keys() - with_tool.keys()}
        for _ in range(2 if suspects else 0):
            with_tool |= self.run(module, self.nothing)[0]
            again = self.run(module, self.recorded)[0]
            recorded |= again
            suspects = {name: times + (name in again) for name, times in suspects.items() if name not in with_tool}
        counts = f"{len(plain)} plain, {len(with_tool)} with the tool, {len(recorded)} recorded"
        print(f"{module}: {count} tests; failures: {counts}",
              *(f"  {name}: failed only when recorded, {times} times of 3\n{recorded[name]}"
                for name, times in sorted(suspects.items())), sep="\n", flush=True)
        return 3 in suspects.values(), count


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", default="full", choices=["full", "calls", "flow"])
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where logs go, and stay")
    parser.add_argument("modules", nargs="*", default=MODULES)
    options = parser.parse_args()
    since = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kymo-suite-", ignore_cleanup_errors=True) as folder:
        suite = Suite(options.keep or Path(folder), options.events)
        modules = [name for name in options.modules if importlib.util.find_spec(f"test.{name}")]
        results = [suite.compare(module) for module in modules]
    guilty = sum(failed for failed, _ in results)
    version, count = sys.version.split()[0], sum(count for _, count in results)
    print(f"{version}, {options.events}: {len(results)} modules, {count} tests,",
          f"{guilty} modules with tests that fail only when recorded; {time.monotonic() - since:.0f} s")
    return guilty > 0


if __name__ == "__main__":
    sys.exit(main())
