# SPDX-License-Identifier: Apache-2.0
"""For programs: start and stop a recording of themselves, leave marks in it."""

import _thread
import os
import sys
import time

from kymo import _kymo
from kymo._kymo import __version__, begin_segment, end_segment, is_recording, mark, snapshot  # noqa: F401 - for kymo
from kymo._settings import settings

_lock = _thread.RLock()
os.register_at_fork(after_in_child=_lock._at_fork_reinit)

# The number of start() calls without a stop(), and whether the first of them began the session.
_depth = 0
_began = False


def _find_program():
    """The native program `kymo`, which contains the reader."""
    package = os.path.dirname(_kymo.__file__)
    folders = [
        os.path.join(package, "..", "..", "bin"),
        os.path.join(package, "..", "..", "..", "..", "bin"),
        os.path.dirname(sys.executable or ""),
        os.path.join(sys.prefix, "bin"),
        *os.environ.get("PATH", os.defpath).split(os.pathsep),
    ]
    named = os.environ.get("KYMO_PROGRAM")
    programs = [named] if named else [os.path.join(folder, "kymo") for folder in folders if folder]
    for program in programs:
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return os.path.abspath(program)
    raise FileNotFoundError(f"kymo: program not found: {programs[0]}; set KYMO_PROGRAM to its path")


def _program_name():
    """The name of the running script or module; sys.argv does not exist yet when Python starts."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if word in ("-W", "-X"):
            next(words, None)
        elif word == "-m":
            return next(words, "")
        elif word == "-c":
            return "code"
        elif not word.startswith("-"):
            return os.path.basename(word).removesuffix(".py")
    return ""


def _is_taken(path):
    return os.path.exists(path) or os.path.exists(path + ".incomplete")


def _choose_output():
    name = "".join(c for c in _program_name() if c.isalnum() or c in "_-.") or "python"
    base = os.path.abspath(f"kymo-{name}-{time.strftime('%Y%m%d-%H%M%S')}")
    path, again = base + ".kymo", 1
    while _is_taken(path):
        again += 1
        path = f"{base}-{again}.kymo"
    return path


def begin(**options):
    """Begin a session and record this process into it; true if processes that it starts are recorded, too."""
    options = settings() | options
    output = options.get("output")
    if output is not None:
        path = os.path.abspath(os.fspath(output))
        if os.path.exists(path) and not options.get("force"):
            raise FileExistsError(f"kymo: {path} already exists; use force=True to replace it")
    while True:
        if output is None:
            path = _choose_output()
        try:
            session = _kymo.start(_find_program(), {**options, "output": path})
            break
        except OSError:
            # Another process that began in the same second may have taken the name.
            if output is not None or not _is_taken(path):
                raise
    if options.get("no_subprocesses"):
        return False
    os.environ["KYMO_SESSION"] = session
    return True


def start(output=None, **options):
    """Start to record this process, all its threads, into the file `output`.

    Options are those of `kymo record`, with underscores: events="flow" (a profile, or names of
    events with commas between them), c_calls=False, values="args" (or "locals",
    "globals"; None: no values), values_for, redact, values_limits, policy="block", clock="sampled", ring_size,
    max_size, segment_memory, source, include, omit, no_stdlib, no_sources, no_code_writes, no_subprocesses,
    session_dir, force.
    Options that are not given are taken from KYMO_* variables, then from [tool.kymo] in pyproject.toml.

    If the process is recorded already, by another start() or by `kymo record`, this only adds
    to that recording, and output and options are ignored.  Every start() needs a stop().

    Raises ValueError for an invalid option, FileExistsError, OSError if the
    session cannot be made, RuntimeError if other tools hold every id of sys.monitoring.
    """
    global _depth, _began
    with _lock:
        if _depth == 0:
            _began = not is_recording()
            if _began:
                begin(**options if output is None else options | {"output": output})
            else:
                _kymo.join()
        _depth += 1


def stop():
    """End what the last start() began.  When the first one has ended, the trace is complete."""
    global _depth
    with _lock:
        if _depth == 0:
            raise RuntimeError("kymo.stop() without kymo.start()")
        _depth -= 1
        if _depth == 0 and _began:
            os.environ.pop("KYMO_SESSION", None)
            _kymo.stop()


class record:
    """A context manager and decorator that records what runs in it: see start()."""

    def __init__(self, output=None, **options):
        self._output = output
        self._options = options

    def __enter__(self):
        start(self._output, **self._options)

    def __exit__(self, kind, error, traceback):
        stop()

    def __call__(self, function):
        import functools
        import inspect

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def recorded(*args, **kwargs):
                with self:
                    return await function(*args, **kwargs)

        else:

            @functools.wraps(function)
            def recorded(*args, **kwargs):
                with self:
                    return function(*args, **kwargs)

        return recorded


def trace(function=None, output=None, **options):
    """Record while the decorated function runs: `@kymo.trace` or `@kymo.trace(output=…)`."""
    decorate = record(output, **options)
    return decorate if function is None else decorate(function)


_context = ""


class context:
    """A context manager: coverage shows what all threads of this process run in it as the context `name`.

    Contexts follow each other; if one is inside another, the inner one counts.  It leaves marks, and has no other cost.
    """

    def __init__(self, name):
        if not isinstance(name, str):
            raise TypeError(f"context() argument must be str, not {type(name).__name__}")
        self._name = name

    def __enter__(self):
        global _context
        self._outer, _context = _context, self._name
        mark(f"context:{self._name}")

    def __exit__(self, kind, error, traceback):
        global _context
        _context = self._outer
        mark(f"context:{self._outer}")
