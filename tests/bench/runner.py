# SPDX-License-Identifier: Apache-2.0
"""Run one program under one tool: runner.py TOOL PROGRAM[.FUNCTION] ROUNDS [instrument], where TOOL is

    plain                        no tool (or the recorder that was started from outside)
    nothing[:once|:flow]:EVENT,… callbacks that return at once
    count[:once|:flow]:EVENT,…   callbacks that count
    pyttd:FOLDER | codetracer:FOLDER | codetracer-json:FOLDER | hunter:FOLDER
    settrace | cprofile | viztracer | viztracer-python | coverage-c[-lines] | coverage-sysmon[-lines] |
    slipcover | slipcover-branch

with callgrind counting the program's instructions alone if told to,
and print one JSON object: the nanoseconds that the function, main() if none is named, took on the clock and on the
processor, and its checksum. Nothing is imported here that the program would otherwise be the first to import.
"""
import sys
import time

ENDS_LOOP = 0x8000  # KYMO_SITE_ENDS_LOOP in format/flow.h


def switch_off(tool, program):
    """Switch branches and jumps off where `flow` does not record them, as far as one round of the program comes."""
    import _nothing

    tools = sys.monitoring
    sites = {}

    def look(code, unit, target=None):
        if code not in sites:
            sites[code] = _nothing.flow_sites(code.co_code, code.co_exceptiontable)
        site = sites[code][unit]
        again = site > ENDS_LOOP and target is not None and sites[code][target] != ENDS_LOOP
        return None if site and site != ENDS_LOOP and not again else tools.DISABLE

    names = ["JUMP", *(("BRANCH_LEFT", "BRANCH_RIGHT") if hasattr(tools.events, "BRANCH_LEFT") else ("BRANCH",))]
    before = {}
    for name in names:
        callback = {
            "BRANCH_LEFT": lambda code, source, target: look(code, target // 2 - 1),
            "BRANCH_RIGHT": lambda code, source, target: look(code, source // 2, target // 2),
        }.get(name, lambda code, source, target: look(code, source // 2))
        before[name] = tools.register_callback(tool, getattr(tools.events, name), callback)
    program(1)
    for name in names:
        tools.register_callback(tool, getattr(tools.events, name), before[name])


def monitor(events, once, counting):
    """Callbacks for @events as Kymo places its own; returns them by event."""
    import _nothing

    tools = sys.monitoring
    tool = next(tool for tool in (5, 4, 3, 0, 1, 2) if tools.get_tool(tool) is None)
    tools.use_tool_id(tool, "nothing")
    callbacks, wanted = {}, 0
    for name in events:
        ways = 0 if not once else 2 if name == "BRANCH" else 1
        callbacks[name] = _nothing.Callback(ways, counting)
        tools.register_callback(tool, getattr(tools.events, name), callbacks[name])
        wanted |= getattr(tools.events, name)
    tools.set_events(tool, wanted)
    return tool, callbacks


def peer_of_values(name, folder, program):
    """Start a recorder of the variables of @program's file, into @folder."""
    import importlib.util

    path = importlib.util.find_spec(program).origin
    if name == "pyttd":
        from pyttd import main

        main.start_recording(f"{folder}/trace.db", checkpoint_interval=0, include_files=[path])

        def stop():
            import sqlite3

            time.sleep(1)  # else its two writers often meet, and "file is not a database"
            try:
                main.stop_recording()
            except sqlite3.DatabaseError as error:
                print(f"pyttd: {error}", file=sys.stderr)

        return stop
    if name == "hunter":
        import hunter

        file = open(f"{folder}/trace.txt", "w")
        hunter.trace(filename=path, action=hunter.VarsSnooper(stream=file))

        def stop():
            hunter.stop()
            file.close()

        return stop
    import codetracer_python_recorder

    codetracer_python_recorder.start(f"{folder}/trace", format="json" if name.endswith("json") else "binary")
    return codetracer_python_recorder.stop


def peer(name, folder, program):
    """Start another project's tool; returns what stops it."""
    if name == "settrace":
        def trace(frame, event, arg):
            return trace

        sys.settrace(trace)
        return lambda: sys.settrace(None)
    if name == "cprofile":
        import cProfile

        profile = cProfile.Profile()
        profile.enable()
        return profile.disable
    if name.startswith("viztracer"):
        import viztracer

        tracer = viztracer.VizTracer(ignore_c_function=name.endswith("python"), verbose=0)
        tracer.start()
        return tracer.stop
    if name.startswith("coverage"):
        import coverage
        import os

        core = "sysmon" if "sysmon" in name else "ctrace"
        # Else it would fall back to the other core.
        branch = not name.endswith("lines") and (core == "ctrace" or sys.version_info >= (3, 14))
        os.environ["COVERAGE_CORE"] = core
        measured = coverage.Coverage(data_file=None, branch=branch, cover_pylib=True, config_file=False)
        measured.start()
        return measured.stop
    if name.startswith("slipcover"):
        import os
        import sysconfig

        import slipcover
        from slipcover.importer import FileMatcher, ImportManager

        files = FileMatcher(sources=[os.path.join(os.path.dirname(__file__), "programs"),
                                     *map(sysconfig.get_path, ("stdlib", "purelib"))])
        imports = ImportManager(slipcover.Slipcover(branch=name.endswith("branch")), files)
        imports.__enter__()
        return lambda: imports.__exit__(None, None, None)
    if name in ("pyttd", "codetracer", "codetracer-json", "hunter"):
        return peer_of_values(name, folder, program)
    raise SystemExit(f"no tool {name}")


def instrumented(function, instrument):
    def run(rounds):
        instrument(True)
        checksum = function(rounds)
        instrument(False)
        return checksum

    return run


def main():
    tool, name, rounds, *rest = sys.argv[1:]
    kind, _, how = tool.partition(":")
    stop, callbacks, mode = None, {}, None
    if kind in ("nothing", "count"):
        mode, _, events = how.rpartition(":")
        tool, callbacks = monitor(events.split(","), mode == "once", kind == "count")
    elif kind != "plain":
        stop = peer(kind, how, name.partition(".")[0])
    name, _, function = name.partition(".")
    program = __import__(name)
    function = getattr(program, function or "main")
    if callbacks and mode == "flow":
        switch_off(tool, function)
    if rest == ["instrument"]:
        import _nothing

        function = instrumented(function, _nothing.instrument)
    before = {event: callback.events for event, callback in callbacks.items()}
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    checksum = function(int(rounds))
    wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    if stop:
        stop()
    seen = ", ".join(f'"{event}": {callback.events - before[event]}' for event, callback in callbacks.items())
    print(f'{{"wall": {wall}, "cpu": {cpu}, "checksum": {checksum}, "events": {{{seen}}}}}')


main()
