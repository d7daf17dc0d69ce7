# SPDX-License-Identifier: Apache-2.0
"""`kymo coverage` reports, line for line and branch for branch, what coverage.py does of the same run.

    coverage_oracle.py [options] [project | program.py]…     or: ./dev coverage-oracle [--python 3.14] …

runs each program, or with --packages the test suite of each project from PyPI, under coverage.py and records the same
process.  Both then report with the same settings, and every file must have the same statements, excluded lines and
branches, and the same of them executed.  Each line that differs is printed; one in a thousand may.  That
--statements-from=coverage gives the same report is checked, too.
"""
import argparse
import collections
import contextlib
import fcntl
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("KYMO_BUILD_DIR", "build/dev")
KYMO = BUILD / "bin" / "kymo"
TORTURE = Path(__file__).parent / "programs" / "coverage_torture.py"
HAS_BRANCHES_OF_SYSMON = sys.version_info >= (3, 14)
CORES = ("ctrace", "sysmon") if HAS_BRANCHES_OF_SYSMON else ("ctrace",)
PROFILES = ("flow", "coverage")
# Of each file; "summary" has the figures of all of these.
COMPARED = ("executed_lines", "missing_lines", "excluded_lines", "executed_branches", "missing_branches")
# Share of statements and branches.  The torture file is full of what sysmon differs from ctrace in.
MOST_DIFFERENT = {"ctrace": 0.001, "sysmon": 0.004}


class Project(NamedTuple):
    version: str
    requires: tuple[str, ...] = ()
    path: str = "src"  # what is imported lies there
    measured: tuple[str, ...] = ("src", "tests")
    options: tuple[str, ...] = ()


PROJECTS = {
    "attrs": Project("26.1.0", ("hypothesis", "cloudpickle"), options=("--deselect=tests/test_mypy.yml",)),
    "click": Project("8.5.1"),
    "flask": Project("3.1.3", ("asgiref", "python-dotenv", "pytest<9")),
    "itsdangerous": Project("2.2.0", ("freezegun",)),
    "jinja2": Project("3.1.6", ("trio",)),
    "markupsafe": Project("3.0.4"),
    "more-itertools": Project("11.2.1", path=".", measured=("more_itertools", "tests"), options=("tests",)),
    "packaging": Project("26.3", ("pretend", "tomli_w")),
    "werkzeug": Project("3.1.9", ("ephemeral-port-reserve", "watchdog", "cryptography"),
                        options=("--ignore=tests/test_serving.py",)),
}


def environment(more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KYMO", "PYTHON", "COVERAGE"))}
    # Plugins that Kymo's own tests use are none of the projects'.
    return kept | {"KYMO_PYTHON": sys.executable, "PYTHONHASHSEED": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | more


def pip(*words):
    done = subprocess.run([sys.executable, "-m", "pip", *map(str, words), "-q", "--retries=2", "--disable-pip-version-check"],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"pip {words[0]}: {done.stderr.strip()[-1000:]}")


@contextlib.contextmanager
def locked(path):
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fetch(name, project, work):
    """The unpacked source distribution, and a folder with what its tests need; both are kept."""
    work.mkdir(parents=True, exist_ok=True)
    with locked(work / f"{name}.lock"):
        return fetch_alone(name, project, work)


def fetch_alone(name, project, work):
    source = work / "sources" / f"{name}-{project.version}"
    if not source.exists():
        with tempfile.TemporaryDirectory(dir=work) as packed:
            pip("download", "--no-deps", "--no-binary", ":all:", "-d", packed, f"{name}=={project.version}")
            (archive,) = Path(packed).glob("*.tar.gz")
            with tarfile.open(archive) as opened:
                opened.extractall(packed, filter="data")
            (folder,) = (path for path in Path(packed).iterdir() if path.is_dir())
            source.parent.mkdir(exist_ok=True)
            folder.rename(source)
    needed = work / "needed-{}.{}".format(*sys.version_info) / name
    if not needed.exists():
        unfinished = needed.with_name(f"{name}.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        pip("install", "--target", unfinished, f"{name}=={project.version}", *project.requires)
        unfinished.rename(needed)
    return source, needed


def settings_of(folder, measured):
    """A file that both tools read."""
    path = folder / "coveragerc"
    path.write_text("[run]\nbranch = true\nsource =\n" + "".join(f"    {each}\n" for each in measured)
                    + "[report]\nignore_errors = true\n")
    return path


def execute(words, cwd, env, timeout, output):
    with output.open("w+", errors="replace") as file:
        process = subprocess.Popen(list(map(str, words)), env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=file, start_new_session=True)
        try:
            return process.wait(timeout)
        finally:
            # The program would survive its recorder, and so may what it has started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def report(words, cwd, env, output, timeout):
    """The files of a report that @words write to @output."""
    log = output.with_suffix(".log")
    output.unlink(missing_ok=True)
    if execute(words, cwd, env, timeout, log) or not output.exists():
        raise RuntimeError(f"{Path(words[0]).name} made no report: {log.read_text()[-2000:]}")
    return json.loads(output.read_text())["files"]


class Result(NamedTuple):
    files: int
    statements: int
    branches: int
    lines: int  # that differ
    ways: int  # branches that differ
    kinds: list[str]  # each of them in words


def as_set(values):
    return {tuple(value) if isinstance(value, list) else value for value in values}


def text_of(path, line):
    try:
        return path.read_text(errors="replace").splitlines()[line - 1].strip()[:80]
    except (OSError, IndexError):
        return ""


def compare(ours, theirs, folder):
    """Result of two reports, by file."""
    lines, ways, kinds = 0, 0, []
    for name in sorted(ours.keys() ^ theirs.keys()):
        kinds.append(f"{name}: only reported by {'Kymo' if name in ours else 'coverage.py'}")
        lines += max(1, (ours.get(name) or theirs[name])["summary"]["num_statements"])
    both = sorted(ours.keys() & theirs.keys())
    for name in both:
        found = collections.defaultdict(list)
        for key in COMPARED:
            mine, other = as_set(ours[name][key]), as_set(theirs[name][key])
            for place in mine ^ other:
                found[place].append(f"{key.partition('_')[0]} {'with us' if place in mine else 'with them'}")
        for place, what in sorted(found.items(), key=str):
            line = place[0] if isinstance(place, tuple) else place
            kinds.append(f"{name}: {place} {', '.join(what)}: {text_of(folder / name, line)}")
        ways += sum(isinstance(place, tuple) for place in found)
        lines += sum(isinstance(place, int) for place in found)
    sums = [sum(theirs[name]["summary"][key] for name in both) for key in ("num_statements", "num_branches")]
    return Result(len(both), *sums, lines, ways, kinds)


def record(words, paths, cwd, folder, settings, core, profile, timeout):
    """Record @words as coverage.py measures them; return the trace."""
    trace, data = folder / "trace.kymo", folder / "coverage.data"
    data.unlink(missing_ok=True)
    env = environment({"COVERAGE_CORE": core, "COVERAGE_FILE": str(data),
                       "PYTHONPATH": os.pathsep.join(map(str, paths))})
    command = [KYMO, "record", "-q", "-f", "-o", trace, f"--events={profile}", "--no-subprocesses", "--max-size=8G",
               "--", sys.executable, "-W", "ignore", "-m", "coverage", "run", "--rcfile", settings, *words]
    status = execute(command, cwd, env, timeout, folder / "output")
    if not data.exists() or ("pytest" in words and status not in (0, 1)):
        raise RuntimeError(f"the program did not end: status {status}\n{(folder / 'output').read_text()[-2000:]}")
    return trace, env


class Run(NamedTuple):
    result: Result
    ours: dict  # files of our report
    others: list[str]  # files of which it is another one with --statements-from=coverage
    record_s: float
    report_s: float
    trace_bytes: int


def check(words, paths, cwd, measured, folder, core, profile, timeout):
    """Run of @words."""
    settings = settings_of(folder, measured)
    started = time.monotonic()
    trace, env = record(words, paths, cwd, folder, settings, core, profile, timeout)
    recorded = time.monotonic()
    command = [KYMO, "coverage", "--python", sys.executable, "--rcfile", settings, "--format=json"]
    ours = report([*command, "-o", folder / "ours.json", trace], cwd, env, folder / "ours.json", timeout)
    reported = time.monotonic()
    theirs = report([sys.executable, "-m", "coverage", "json", "--rcfile", settings, "-o", folder / "theirs.json"],
                    cwd, env, folder / "theirs.json", timeout)
    by_theirs = report([*command, "--statements-from=coverage", "-o", folder / "by.json", trace],
                       cwd, env, folder / "by.json", timeout)
    others = [name for name in sorted(ours.keys() | by_theirs.keys()) if ours.get(name) != by_theirs.get(name)]
    return Run(compare(ours, theirs, cwd), ours, others, recorded - started, reported - recorded, trace.stat().st_size)


def tell(run, name, core, output, most):
    """Print a line, and what is not as it should be, each kind at most @most times; True: something is not."""
    result = run.result
    last = output.read_text(errors="replace").strip().rpartition("\n")[2].strip("= ")
    print(f"{name}: {result.files} files, {result.statements} statements, {result.branches} branches; "
          f"{result.lines} lines and {result.ways} branches differ; run {run.record_s:.0f} s, "
          f"report {run.report_s:.1f} s, trace {run.trace_bytes / 1e6:.1f} MB ({last})")
    incomplete = [file for file in run.ours if run.ours[file].get("incomplete")]
    for kinds in (result.kinds, [f"{file}: another report with --statements-from=coverage" for file in run.others],
                  [f"{file}: incomplete" for file in incomplete]):
        print("".join(f"    {kind}\n" for kind in kinds[:most]), end="", flush=True)
    most_different = MOST_DIFFERENT[core] * (result.statements + result.branches)
    return bool(run.others or incomplete) or result.lines + result.ways > most_different


def targets(options, work):
    """name, words after `coverage run`, sys.path, working directory, what is measured"""
    for program in options.programs or ([] if options.packages else [TORTURE]):
        path = Path(program).resolve()
        yield path.name, [path], [], path.parent, [path.parent]
    for name in options.packages or ():
        project = PROJECTS[name]
        try:
            source, needed = fetch(name, project, work)
        except (RuntimeError, OSError, ValueError) as error:
            print(f"{name}: left out: {error}", flush=True)
            continue
        words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *project.options]
        yield name, words, [source / project.path, needed], source, [source / each for each in project.measured]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", nargs="?", const=",".join(PROJECTS), type=lambda text: text.split(","),
                        metavar="NAME,…", help="test suites of projects from PyPI, kept in the work folder")
    parser.add_argument("--core", type=lambda text: text.split(","), default=CORES, help="of coverage.py")
    parser.add_argument("--events", type=lambda text: text.split(","), default=PROFILES, help="profiles to record")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=1200, help="for one run")
    parser.add_argument("--show", metavar="N", type=int, default=20, help="differences of each run that are printed")
    parser.add_argument("--work", metavar="FOLDER", type=Path, default=ROOT / "build" / "coverage-oracle")
    parser.add_argument("programs", nargs="*", metavar="program.py")
    options = parser.parse_args()
    if unknown := set(options.packages or ()) - PROJECTS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(PROJECTS)}")
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    compared, failed, broken = [], 0, 0
    for name, words, paths, cwd, measured in targets(options, work):
        for core, profile in itertools.product(options.core, options.events):
            folder = work / "{}.{}-{}-{}-{}".format(*sys.version_info[:2], name, core, profile)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            try:
                run = check(words, paths, cwd, measured, folder, core, profile, options.timeout)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                broken += 1
                print(f"{name}, {core}, {profile}: not compared: {error}", flush=True)
                continue
            failed += tell(run, f"{name}, {core}, {profile}", core, folder / "output", options.show)
            compared.append(run.result)
    statements, branches, lines, ways = (sum(getattr(result, field) for result in compared)
                                         for field in ("statements", "branches", "lines", "ways"))
    print(f"{'{}.{}.{}'.format(*sys.version_info)}: {len(compared)} runs compared, {statements} statements, "
          f"of which {lines} differ, {branches} branches, of which {ways} differ; {failed} runs failed; "
          f"{broken} not compared")
    return 1 if failed or broken or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
