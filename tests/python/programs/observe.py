# SPDX-License-Identifier: Apache-2.0
"""What a tool in pure Python sees of a program: the oracle of test_oracle.py.

usage: observe.py OUTPUT EVENTS FILES PROGRAM [ARGUMENTS].  EVENTS: names of sys.monitoring.events; FILES: ends of
paths, or folders as "name/*", or "*"; each with commas between.  TRACEBACKS among the events: lines of RAISE and
PY_UNWIND are those of tracebacks, where the interpreter names the instruction before the one that was left.  OUTPUT gets a marshalled dict of the events of each
thread by its native id, shaped as streams.shape() has it.  Nothing is imported that a program could want to see
imported.
"""
import _thread
import builtins
import marshal
import sys
import types

TOOL = 4
output, names, patterns, program, *arguments = sys.argv[1:]
names, patterns = names.split(","), patterns.split(",")
of_tracebacks = "TRACEBACKS" in names and sys.version_info >= (3, 13)
names = [name for name in names if name != "TRACEBACKS"]
monitoring = sys.monitoring
threads = {}
kept = {}  # each event by itself: one that comes again takes no memory
wanted = {}
lines = {}


def is_wanted(code):
    file = code.co_filename
    if file not in wanted:
        wanted[file] = any(f"/{pattern[:-1]}" in f"/{file}" if pattern[-1] == "*" else file.endswith(f"/{pattern}")
                           for pattern in patterns)
    return wanted[file]


def line_at(code, offset):
    if code not in lines:
        lines[code] = {unit: position[0] for unit, position in enumerate(code.co_positions())}
    # A table of lines may end before its code, where a program has made that longer.
    return lines[code].get(offset // 2)


def name_of(callable):
    if isinstance(callable, types.MethodType):
        callable = callable.__func__
    if isinstance(callable, types.FunctionType):
        return callable.__code__.co_qualname
    if isinstance(callable, types.BuiltinFunctionType):
        owner = callable.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            module = callable.__module__
            return callable.__name__ if module in (None, "builtins") else f"{module}.{callable.__name__}"
        owner = owner if isinstance(owner, type) else type(owner)
        return f"{owner.__qualname__}.{callable.__name__}"
    if isinstance(callable, (types.MethodDescriptorType, types.ClassMethodDescriptorType, types.WrapperDescriptorType,
                             types.MethodWrapperType)):
        return f"{callable.__objclass__.__qualname__}.{callable.__name__}"
    return (callable if isinstance(callable, type) else type(callable)).__qualname__


def see(event, code, line, offset=None, dest=None, callable=None, exception=None):
    stream = threads.setdefault(_thread.get_native_id(), [])
    what = (event, code.co_filename, code.co_qualname, line, offset, dest, callable, exception)
    stream.append(kept.setdefault(what, what))


def callback(event):
    """A function for @event, with the arguments that the documentation of sys.monitoring names."""
    def line(code, number):
        if is_wanted(code):
            see(event, code, number)

    def place(code, offset, _=None):
        if is_wanted(code):
            see(event, code, line_at(code, offset), offset)

    def jump(code, offset, dest):
        if is_wanted(code):
            see(event, code, line_at(code, offset), offset, dest=dest)

    def call(code, offset, callable, _):
        if is_wanted(code):
            see(event, code, line_at(code, offset), offset, callable=name_of(callable))

    def error(code, offset, exception):
        if is_wanted(code):
            line, told = line_at(code, offset), exception.__traceback__
            if of_tracebacks and told and told.tb_frame is sys._getframe(1) and (event == "RAISE" or told.tb_lasti == offset + 2):
                line = told.tb_lineno
            see(event, code, line, offset, exception=type(exception).__qualname__)

    if event == "LINE":
        return line
    if event.startswith("BRANCH") or event == "JUMP":
        return jump
    if event in ("CALL", "C_RETURN", "C_RAISE"):
        return call
    if event in ("PY_THROW", "PY_UNWIND", "RAISE", "RERAISE", "EXCEPTION_HANDLED", "STOP_ITERATION"):
        return error
    return place


def main():
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=program, __builtins__=builtins)
    with open(program) as file:
        code = compile(file.read(), program, "exec")
    sys.modules["__main__"] = module
    sys.argv[:] = [program, *arguments]
    monitoring.use_tool_id(TOOL, "observer")
    mask = 0
    for name in names:
        event = getattr(monitoring.events, name)
        monitoring.register_callback(TOOL, event, callback(name))
        if name not in ("C_RETURN", "C_RAISE"):
            mask |= event
    # From 3.13 on code of one line has no LINE without it: cpython#155992.
    monitoring.set_events(TOOL, mask | (monitoring.events.PY_START if "LINE" in names else 0))
    try:
        exec(code, module.__dict__)
    finally:
        monitoring.set_events(TOOL, 0)
        with open(output, "wb") as file:
            marshal.dump(threads, file)


main()
