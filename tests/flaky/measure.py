# SPDX-License-Identifier: Apache-2.0
"""Which rank `kymo suspects` gives to the cause of each program here, and at which place `kymo diff` names it: `./dev flaky`.

Each program is recorded until there are enough attempts that passed and that failed; what was recorded is kept, and used
again.  The causes are marked in the programs: see README.md.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT = 300


def programs(names):
    found = sorted(HERE.glob("test_*.py")) + sorted((HERE / "historical").glob("test_*.py"))
    return [path for path in found if not names or path.stem.removeprefix("test_") in names]


def causes(program):
    """(end of the file's name, texts of its lines, package): where the program says that the cause is."""
    text = program.read_text()
    if match := re.search(r"^CAUSE = (\(.*?\]\))$", text, re.M | re.S):
        file, lines = eval(match[1])
        return file, set(lines), file.partition("/")[0]
    lines = {line.strip() for line in text.splitlines() if re.search(r"# cause$", line)}
    return program.name, lines, None


def how(program):
    """The options of `kymo record` that the program asks for."""
    match = re.search(r"^# kymo record (.*)$", program.read_text(), re.M)
    return match[1].split() if match else []


def environment(options):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KYMO", "PYTHON"))}
    return kept | {"KYMO_PYTHON": options.python}


def record(program, options):
    """The traces of the attempts that passed, and of those that failed."""
    folder = Path(options.output) / program.stem
    folder.mkdir(parents=True, exist_ok=True)
    traces = {True: sorted(folder.glob("pass-*.kymo")), False: sorted(folder.glob("fail-*.kymo"))}
    tried = 0
    while min(map(len, traces.values())) < options.each and tried < options.tries:
        tried += 1
        trace = folder / "attempt.kymo"
        words = [options.kymo, "record", "-q", "-f", "-o", trace, *how(program), *options.record, "--", options.python, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                 program.name]
        done = subprocess.run(words, cwd=program.parent, env=environment(options), capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode not in (0, 1):
            sys.exit(f"{program.name} did not run:\n{done.stdout}{done.stderr}")
        kept, has_passed = traces[done.returncode == 0], done.returncode == 0
        if len(kept) < options.each:
            kept.append(trace.rename(folder / f"{'pass' if has_passed else 'fail'}-{len(kept) + 1:03}.kymo"))
    (folder / "attempt.kymo").unlink(missing_ok=True)
    return traces[True], traces[False]


def run(options, *words):
    done = subprocess.run([options.kymo, *map(str, words)], env=environment(options), capture_output=True, text=True, timeout=TIMEOUT * 4)
    if done.returncode not in (0, 1):
        sys.exit(f"kymo {words[0]}: {done.stderr}")
    return done.stdout


def rank(program, passed, failed, options):
    """Of the first suspect that shows a line of the cause, and what it has to say; None: there is none."""
    file, lines, package = causes(program)
    scope = [f"--source={package}"] if package else []
    told = json.loads(run(options, "suspects", "--json", "--limit=1000", *scope, "--pass", *passed, "--fail", *failed))
    (Path(options.output) / program.stem / "suspects.json").write_text(json.dumps(told, indent=2))
    for suspect in told["suspects"]:
        for fact in suspect["facts"]:
            if suspect["file"].endswith(file) and lines & {line["source"] for line in fact["lines"]}:
                counts = (f"{suspect['failing']} of {suspect['failing_known']} and "
                          f"{suspect['passing']} of {suspect['passing_known']}")
                return suspect["rank"], f"{fact['kind']}, {suspect['score']:.2f}, {counts}"
    return None, f"not among {len(told['suspects'])}"


def places_of(difference):
    """Every line of the source that the text of a difference shows as where it is; not the lines and calls before it."""
    for side in ("pass", "fail"):
        told = difference[side] or {}
        yield told.get("last_common")
        following, raised = told.get("next") or {}, told.get("exception") or {}
        yield from (following, following.get("body"), raised, *(raised.get("handler") or ()),
                    *(told.get("loops") or ()))
    order = difference.get("order") or {}
    yield from (order.get("before"), order.get("after"), order.get("other"))


def place(program, passed, failed, options):
    """Of the first difference between two attempts that names a line of the cause; None: there is none."""
    file, lines, package = causes(program)
    scope = [f"--source={package}"] if package else []
    for difference in json.loads(run(options, "diff", "--json", "--limit=1000", *scope, passed, failed))["differences"]:
        for each in places_of(difference):
            if each and each.get("file") and each["file"].endswith(file) and (each["text"] or "").strip() in lines:
                return difference["number"]
    return None


def count_places(program, passed, failed, options):
    """Over pairs of attempts, as text: place and number of pairs."""
    pairs = list(zip(passed, failed))[: options.pairs]
    counts = Counter(place(program, *pair, options) for pair in pairs)
    told = [f"{number or 'missed'}: {counts[number]}" for number in sorted(counts, key=lambda number: number or 1e9)]
    return ", ".join(told) or "one side is missing"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kymo", required=True)
    parser.add_argument("--python", default=sys.executable, help="has pytest, and what historical/requirements.txt names")
    parser.add_argument("--output", required=True, help="folder for the traces")
    parser.add_argument("--each", type=int, default=10, help="attempts that passed, and as many that failed")
    parser.add_argument("--tries", type=int, default=300, help="attempts of one program, at most")
    parser.add_argument("--pairs", type=int, default=10, help="of attempts that kymo diff compares, at most")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--values", choices=("args", "locals", "globals"), help="which variables are recorded, of every program")
    parser.add_argument("names", nargs="*", help="programs; else all")
    options = parser.parse_args()
    options.record = [f"--values={options.values}"] if options.values else []
    if options.values:
        options.output += f"-{options.values}"
    options.kymo, options.output = os.path.abspath(options.kymo), os.path.abspath(options.output)
    chosen = programs(options.names)
    print("| program | attempts that passed, failed | place of the cause in `kymo diff`: in how many pairs | rank of the cause in `kymo suspects` | "
          "by what, score, in how many that failed and that passed |")
    print("|---|---|---|---|---|")
    with ThreadPoolExecutor(options.jobs) as pool:
        for program, (passed, failed) in zip(chosen, pool.map(lambda each: record(each, options), chosen)):
            number, by = rank(program, passed, failed, options) if passed and failed else (None, "one side is missing")
            at = count_places(program, passed, failed, options)
            print(f"| `{program.stem}` | {len(passed)}, {len(failed)} | {at} | {number or 'missed'} | {by} |", flush=True)


if __name__ == "__main__":
    main()
