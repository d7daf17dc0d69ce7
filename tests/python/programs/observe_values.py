# SPDX-License-Identifier: Apache-2.0
"""What a tool in pure Python sees of a program's values: the oracle of test_values_recording.py.

usage: observe_values.py OUTPUT SCOPE PROGRAM [STACKS].  SCOPE: args, locals or globals.  OUTPUT gets the marshalled list of the
events of each thread, in the order in which the threads began: (event, function, line or None, the event's own value in a tuple or (),
variables).  Variables are those that a function has, read from its frame: of args, the arguments at PY_START alone.

STACKS gets a list of stacks for each thread, too, one for each event: (function, variables at its last event, number of the activation) of
each of the program's frames, the innermost first.  A generator's activation ends where it is suspended.
"""
import _thread
import builtins
import dis
import marshal
import sys
import types

TOOL = 4
ITEMS, TEXT = 20, 200
output, scope, program, *stacks_output = sys.argv[1:]
monitoring = sys.monitoring
threads = {}
names = {}
stacks, held, activations = {}, {}, {}
LEAVES = (type(None), bool, int, float)
SECRETS = ("password", "token", "secret")


def model(value, depth=0):
    """As value_decoder.Block.value() has it."""
    if type(value) is int and abs(value) >= 1 << 8 * TEXT:
        return "other"
    if type(value) in LEAVES:
        return value
    if type(value) is str:
        return len(value), value[:TEXT]
    if type(value) in (list, tuple, dict):
        name = type(value).__name__
        items = [each for pair in value.items() for each in pair] if name == "dict" else list(value)
        kept = items[:ITEMS * (2 if name == "dict" else 1)] if depth < 2 else []
        return name, len(value), [model(each, depth + 1) for each in kept]
    return "other"


def named(name, value):
    return "redacted" if any(secret in name.lower() for secret in SECRETS) else model(value)


def names_of(code):
    """Names that the code looks up in its own namespace, and in that of its module."""
    if code not in names:
        own, module = set(), set()
        for each in dis.get_instructions(code):
            if each.opname in ("LOAD_NAME", "STORE_NAME", "DELETE_NAME"):
                own.add(each.argval)
            elif each.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
                module.add(each.argval)
        names[code] = own, module
    return names[code]


def variables_of(frame):
    code = frame.f_code
    own, module = names_of(code)
    if code.co_flags & 1:
        found = dict(frame.f_locals)
    else:
        found = {name: value for name, value in frame.f_locals.items() if name in own or name in code.co_freevars}
    if scope == "globals":
        module |= own
        found |= {name: frame.f_globals[name] for name in module if name in frame.f_globals and name not in found}
    return {name: named(name, value) for name, value in found.items()}


def arguments_of(frame):
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return {name: named(name, frame.f_locals[name]) for name in code.co_varnames[:count]}


def see(event, code, line=None, own=()):
    if code.co_filename != program:
        return
    frame = sys._getframe(2)
    assert frame.f_code is code
    if scope != "args":
        variables = variables_of(frame)
    else:
        variables = arguments_of(frame) if event == "PY_START" else {}
    if stacks_output:
        note_stack(event, frame, variables)
    own = tuple(named(code.co_name, each) for each in own)
    threads.setdefault(_thread.get_ident(), []).append((event, code.co_qualname, line, own, variables))


def note_stack(event, frame, variables):
    here = frame
    if scope != "args" or event == "PY_START":
        held[frame] = variables
    stack = []
    while frame:
        if frame.f_code.co_filename == program:
            number = activations.setdefault(frame, len(activations) + sum(map(len, stacks.values())))
            stack.append((frame.f_code.co_qualname, held.get(frame, {}), number))
        frame = frame.f_back
    stacks.setdefault(_thread.get_ident(), []).append(stack)
    if event in ("PY_RETURN", "PY_YIELD", "PY_UNWIND"):
        held.pop(here, None), activations.pop(here, None)


def callback(event):
    def line(code, number):
        see(event, code, number)

    def start(code, offset):
        see(event, code)

    def value(code, offset, value):
        see(event, code, own=(value,))

    def error(code, offset, exception):
        # What the interpreter raises by itself, as StopAsyncIteration, may have none yet.
        is_new = event == "RAISE" and not (exception.__traceback__ and exception.__traceback__.tb_next)
        see(event, code, own=(exception,) if is_new else ())

    if event == "LINE":
        return line
    if event in ("PY_RETURN", "PY_YIELD"):
        return value
    return start if event == "PY_START" else error


def main():
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=program, __builtins__=builtins)
    with open(program) as file:
        code = compile(file.read(), program, "exec")
    sys.modules["__main__"] = module
    sys.argv[:] = [program]
    monitoring.use_tool_id(TOOL, "observer")
    mask = 0
    for name in ("PY_START", "PY_RETURN", "PY_YIELD", "RAISE", "PY_UNWIND", "LINE"):
        event = getattr(monitoring.events, name)
        monitoring.register_callback(TOOL, event, callback(name))
        mask |= event
    monitoring.set_events(TOOL, mask)
    try:
        exec(code, module.__dict__)
    finally:
        monitoring.set_events(TOOL, 0)
        with open(output, "wb") as file:
            marshal.dump(list(threads.values()), file)
        for path in stacks_output:
            with open(path, "wb") as file:
                marshal.dump(list(stacks.values()), file)


main()
