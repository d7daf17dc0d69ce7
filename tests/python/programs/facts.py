# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, what a program can find out about its process and its interpreter."""
import atexit
import builtins
import gc
import json
import os
import resource
import signal
import sys
import threading
import warnings


def open_files():
    before = {int(fd) for fd in os.listdir("/proc/self/fd")}
    return sorted(fd for fd in before if os.path.exists(f"/proc/self/fd/{fd}"))


def next_file():
    fd = os.open("/dev/null", os.O_RDONLY)
    os.close(fd)
    return fd


def masks():
    """Of signals, but for the two that the C library's posix_spawn() keeps for itself, and of files."""
    with open("/proc/self/status") as status:
        fields = dict(line.split(":\t") for line in status)
    signals = {name: int(fields[name], 16) & ~(3 << 31) for name in ("SigBlk", "SigIgn", "SigCgt")}
    return signals, fields["Umask"], fields["Threads"], fields["NoNewPrivs"]


def children():
    try:
        return os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return "none"


def names(objects):
    return [getattr(each, "__qualname__", type(each).__qualname__) for each in objects]


json.dump({
    "files": open_files(),
    "next file": next_file(),
    "children": children(),
    "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
    "masks": masks(),
    "limits": [resource.getrlimit(number) for number in range(16)],
    "scheduling": [os.sched_getscheduler(0), os.nice(0), sorted(os.sched_getaffinity(0))],
    "group": [os.getpgrp(), os.getsid(0), os.getcwd(), os.getuid(), os.getgid()],
    "threads": [len(os.listdir("/proc/self/task")), [thread.name for thread in threading.enumerate()]],
    "environment": dict(os.environ),
    "arguments": [sys.argv, sys.orig_argv, sys.executable, list(sys.flags), sys.path, sys._xoptions],
    "modules": sorted(sys.modules),
    "sitecustomize": getattr(sys.modules.get("sitecustomize"), "__file__", None),
    "importers": names([*sys.meta_path, *sys.path_hooks]),
    "cached paths": sorted(sys.path_importer_cache),
    "hooks": names([sys.excepthook, sys.displayhook, sys.unraisablehook, sys.breakpointhook, threading.excepthook]),
    "tracing": [sys.gettrace(), sys.getprofile(), threading.gettrace(), sys.get_asyncgen_hooks()],
    "limits of Python": [sys.getrecursionlimit(), sys.getswitchinterval(), gc.isenabled(), gc.get_threshold(),
                         gc.get_debug(), gc.get_freeze_count(), atexit._ncallbacks()],
    "builtins": sorted(vars(builtins)),
    "warnings": len(warnings.filters),
    "stack": len(sys._current_frames()),
    "in flight": repr(sys.exc_info()),
}, sys.stdout, default=str)
