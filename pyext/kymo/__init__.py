# SPDX-License-Identifier: Apache-2.0
"""Kymo, a flight recorder for CPython.

    with kymo.record("run.kymo", events="full"):
        ...

Every interpreter that starts where Kymo is installed may import this file: the rest is
imported when it is first used.

PYTEST_DONT_REWRITE: if a process is recorded from its start, this is imported before pytest, which would warn that it
is too late to rewrite it.  If warnings are errors, no test would run.
"""

__all__ = ["Cursor", "Error", "Event", "Events", "Frame", "PastValue", "Trace", "Value", "begin_segment",
           "context", "end_segment",
           "is_recording", "mark", "open", "record", "snapshot", "start", "stop", "trace"]
_OF_HISTORY = {"Cursor", "Error", "Event", "Events", "Frame", "PastValue", "Trace", "Value", "open"}


def __getattr__(name):
    if name not in __all__ and name != "__version__":
        raise AttributeError(f"module 'kymo' has no attribute {name!r}")
    if name in _OF_HISTORY:
        from kymo import _history as source
    else:
        from kymo import _recording as source

    value = globals()[name] = getattr(source, name)
    return value
