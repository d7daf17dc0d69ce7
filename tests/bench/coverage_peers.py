# SPDX-License-Identifier: Apache-2.0
"""The profile `coverage` beside coverage.py and SlipCover: programs, imports, and a project's own tests."""
import os
import statistics
import subprocess
import sys
import tarfile

import measure
from instructions import instructions_of
from measure import (PROFILES, adopt_orphans, interval, progress, record, result, rounds_of, run, runner, scratch,
                     shown, table)
from peers import installed

PACKAGES = ["coverage", "slipcover", "pytest"]
IMPORTS = "modules"
NOTHING, KYMO_TOOLS = "nothing", ["kymo coverage", "kymo flow"]
PEERS = ["coverage-sysmon-lines", "coverage-sysmon", "coverage-c-lines", "coverage-c", "slipcover", "slipcover-branch"]
COUNTED = ["coverage-sysmon-lines", "coverage-sysmon", "slipcover", "slipcover-branch"]  # the others are not near
# A source distribution whose tests need nothing but pytest, without those that want a home directory or are races.
PROJECT, LEFT_OUT = "click==8.2.1", "(expand_args or echo_via_pager)"

mean = statistics.geometric_mean


def tools_of(found):
    """Those that there are for this CPython."""
    return [tool for tool in PEERS if found[tool.split("-")[0]] and (measure.HAS_SIDES or tool != "coverage-sysmon")]


def command_of(tool, program, rounds, trace):
    if tool in KYMO_TOOLS:
        return record(trace, tool.split()[1], runner("plain", program, rounds))
    return runner(PROFILES["coverage"].tool(NOTHING) if tool == NOTHING else tool, program, rounds)


def sampled(commands, pairs, title, take):
    """{tool: [take(cost), …]}, each once a round, in turning order; the first round is for warmth."""
    samples = {tool: [] for tool in commands}
    for number in range(-1, pairs):
        for tool in list(commands)[::1 if number % 2 else -1]:
            progress(f"coverage {title} {tool}")
            sample = take(run(commands[tool]))
            if number >= 0:
                samples[tool].append(sample)
    progress("")
    return samples


def slowdowns(samples):
    return {tool: interval(sample / plain for sample, plain in zip(each, samples["plain"]))
            for tool, each in samples.items() if tool != "plain"}


def times(programs, tools, options, folder):
    """Processor time of main(), over the program alone."""
    rows = []
    for program in programs:
        rounds = rounds_of(program, 0.5 * options.scale)
        commands = {tool: command_of(tool, program, rounds, folder / "trace.kymo") for tool in ["plain", *tools]}
        samples = sampled(commands, options.pairs, program, lambda cost: result(cost)["cpu"])
        rows.append({"program": program, "slowdown": slowdowns(samples), "samples": samples})
    table("slowdown in processor time", ["program", *tools],
          [*([row["program"], *(shown(row["slowdown"][tool]) for tool in tools)] for row in rows),
           ["geometric mean", *(f"{mean(row['slowdown'][tool][0] for row in rows):.2f}" for tool in tools)]])
    return rows


def instructions(programs, tools, options, folder):
    """Instructions of main(), over the program alone: as for its full number of rounds."""
    rows = []
    for program in programs:
        full = rounds_of(program, options.scale)

        def total(tool):
            progress(f"coverage instructions {program} {tool}")
            recorded = tool.split()[1] if tool in KYMO_TOOLS else None
            name = PROFILES["coverage"].tool(NOTHING) if tool == NOTHING else "plain" if recorded else tool
            first, second = (instructions_of(folder, name, program, rounds, recorded) if rounds <= full else 0
                             for rounds in (1, 2))
            return first + (second - first) * (full - 1) if full > 1 else first

        counts = {tool: total(tool) for tool in ["plain", *tools]}
        rows.append({"program": program, "instructions": counts})
    progress("")
    table("instructions, over the program alone", ["program", *tools],
          [*([row["program"], *(f"{row['instructions'][tool] / row['instructions']['plain']:.3f}" for tool in tools)]
             for row in rows),
           ["geometric mean", *(f"{mean(row['instructions'][tool] / row['instructions']['plain'] for row in rows):.3f}"
                                for tool in tools)]])
    return rows


def imports(tools, options, folder):
    """What a code object that runs for the first time costs more than alone."""
    codes = result(run(runner("count:once:PY_START", IMPORTS, 1)))["events"]["PY_START"]
    commands = {tool: command_of(tool, IMPORTS, 1, folder / "trace.kymo") for tool in ["plain", *tools]}
    samples = sampled(commands, options.pairs, IMPORTS, lambda cost: result(cost)["cpu"])
    added = {tool: interval((sample - plain) / codes for sample, plain in zip(samples[tool], samples["plain"]))
             for tool in tools}
    ratios = slowdowns(samples)
    table(f"{IMPORTS}: {codes} code objects, processor time of the imports", ["tool", "ns a code object", "slowdown"],
          [[tool, shown(added[tool], 0), shown(ratios[tool])] for tool in tools])
    return {"codes": codes, "added_ns": added, "slowdown": ratios, "samples": samples}


def unpacked_project(folder):
    """The project's sources with its tests."""
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps",
                    "--no-binary", ":all:", "-d", folder, PROJECT], check=True)
    archive, = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def suite(tools, options, folder):
    """Processor time of all processes of a project's tests, Kymo's reader included, over pytest alone."""
    project = unpacked_project(folder)
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", project, "-k", f"not {LEFT_OUT}",
             project / "tests"]
    data = folder / "data"
    commands = {"plain": [sys.executable, *tests]}
    for tool in tools:
        if tool in KYMO_TOOLS:
            commands[tool] = record(folder / "trace.kymo", tool.split()[1], [sys.executable, *tests], f"--source={project}")
        elif tool.startswith("coverage"):
            core = "sysmon" if "sysmon" in tool else "ctrace"
            commands[tool] = ["env", f"COVERAGE_CORE={core}", sys.executable, "-m", "coverage", "run", f"--data-file={data}",
                              f"--source={project}", *([] if tool.endswith("lines") else ["--branch"]), *tests]
        elif tool.startswith("slipcover"):
            commands[tool] = [sys.executable, "-m", "slipcover", "--json", "--out", data, "--source", project,
                              *(["--branch"] if tool.endswith("branch") else []), *tests]
    # SlipCover 1.1.0 warns that it has no branches under pytest 9: what is measured there are lines.
    samples = sampled({tool: ["env", f"PYTHONPATH={project / 'src'}", *command] for tool, command in commands.items()},
                      options.pairs, PROJECT, lambda cost: cost.total_cpu)
    ratios = slowdowns(samples)
    table(f"tests of {PROJECT}: processor time of all processes", ["tool", "slowdown"],
          [["alone, s", f"{statistics.median(samples['plain']):.2f}"],
           *([tool, shown(ratio)] for tool, ratio in ratios.items())])
    return {"slowdown": ratios, "samples": samples}


def ready():
    """The peers that there are, with their versions."""
    adopt_orphans()
    measure.PYTHON = sys.executable
    found = installed(PACKAGES)
    return found, tools_of(found)


def coverage_imports(options):
    """The imports alone, for more pairs than the rest has time for; SlipCover takes too long to be among them."""
    _, peers = ready()
    with scratch() as folder:
        return imports([NOTHING, *KYMO_TOOLS, *(tool for tool in peers if tool.startswith("coverage"))], options, folder)


def coverage_instructions(options):
    """Instructions of the profile alone, beside a tool that does nothing."""
    ready()
    with scratch() as folder:
        return instructions(options.programs, [NOTHING, KYMO_TOOLS[0]], options, folder)


def coverage(options):
    found, peers = ready()
    programs = [program for program in options.programs if program not in (IMPORTS, "imports")]
    with scratch() as folder:
        return {
            "versions": found,
            "imports": imports([NOTHING, *KYMO_TOOLS, *peers], options, folder),
            "suite": suite([*KYMO_TOOLS, *peers], options, folder / "project"),
            "times": times(programs, [NOTHING, *KYMO_TOOLS, *peers], options, folder),
            "instructions": instructions([*programs, IMPORTS], [NOTHING, KYMO_TOOLS[0],
                                         *(tool for tool in peers if tool in COUNTED)], options, folder),
        }
