# SPDX-License-Identifier: Apache-2.0
"""The last lines that ran in each thread, read from a trace that may still be written."""

import json
import linecache
import os

from kymo.testing.recording import run_kymo

_ENTRIES = {"PY_START", "PY_RESUME", "PY_THROW"}
_EXITS = {"PY_RETURN", "PY_YIELD", "PY_UNWIND"}
_KINDS = ",".join(["LINE", "RAISE", "UNKNOWN", *sorted(_ENTRIES | _EXITS)])
# Events of a thread that are searched; the second number if all of the first belong to tools.
_WINDOWS = (2000, 50000)
_LONGEST, _LONGEST_VALUE = 100, 40


class Frame:
    def __init__(self, is_hidden, event):
        self.is_hidden, self.last = is_hidden, event
        self.line, self.values = None, {}  # its last LINE; values of variables that no line shows yet


def _follow(events, owner_of):
    """(what tested code did, and libraries for it; the event that shows where the thread is at the end, or None).

    What was called before the first event counts as tested.  Events of libraries are marked `is_other`.
    """
    stack, kept = [], []
    for event in events:
        if event["event"] == "UNKNOWN" and "first_line" not in event:
            continue
        kind, owner = event["event"], owner_of(event["file"])
        event["is_other"] = owner == "library"
        is_hidden = owner == "tool" or owner == "library" and bool(stack) and stack[-1].is_hidden
        if kind in _ENTRIES or not stack:
            stack.append(Frame(is_hidden, event))
        elif event.get("line") is not None:
            stack[-1].last = event
        _note_values(stack[-1], event)
        if not is_hidden:
            kept.append(event)
        if kind in _EXITS:
            stack.pop()
    return kept, stack[-1].last if stack and not stack[-1].is_hidden else None


def _note_values(frame, event):
    """Arguments go to the first line of a call, its return value to the last."""
    frame.values |= event.get("values") or {}
    if event["event"] == "LINE":
        frame.line, event["values"], frame.values = event, frame.values, {}
    elif event["event"] in _EXITS and frame.line and "value" in event:
        frame.line["result"] = event["value"]


def _find_failure(events, traceback):
    """Where the exception was raised: the index of its event."""
    for place in traceback:
        for at in reversed(range(len(events))):
            event = events[at]
            if event["event"] == "RAISE" and (event["file"], event["function"], event["line"]) == place:
                return at
    return None


def _lines(events, last, count):
    """The last lines or, where none were recorded, calls; at the end the line where the thread is.

    Lines of other code are only counted, except for the very last: it shows where the thread is.
    """
    found = []
    for kind in "LINE", "PY_START":
        found = found or [event for event in events if event["event"] == kind and event["line"] is not None]
    if last and last.get("line") is not None and (not found or _where(found[-1]) != _where(last)):
        found.append(last)
    if events and "first_line" in events[-1]:
        found.append(events[-1])
    lines = []
    for event in found:
        if not event["is_other"] or event is found[-1]:
            lines.append(event)
        elif lines and isinstance(lines[-1], int):
            lines[-1] += 1
        else:
            lines.append(1)
    at, shown = len(lines), 0
    while at and shown < count:
        at -= 1
        shown += not isinstance(lines[at], int)
    if not shown:
        return []
    # Events before the first line are not wanted, unless the thread did nothing else.
    at += isinstance(lines[at], int)
    return lines[at - (at > 0 and lines[at]["is_other"] and isinstance(lines[at - 1], int)):]


def _where(event):
    return event["file"], event["function"], event["line"]


def _relative(file, folder):
    return os.path.relpath(file, folder) if file.startswith(f"{folder}{os.sep}") else file


def _place(event, folder):
    file = event["file"] or "?"
    if "first_line" in event:
        file = _relative(file, folder)
        first, last = event["first_line"], event["last_line"]
        return f"{file} {event['function']}", f"line{f' {first}' if first == last else f's {first} to {last}'} may have run"
    text = linecache.getline(file, event["line"]).strip()
    return f"{_relative(file, folder)}:{event['line']} {event['function']}", _cut(text, _LONGEST) + _values(event)


def _cut(text, length):
    return text if len(text) <= length else text[:length] + "…"


def _values(event):
    """As a comment: values that variables got after the line before, and the line's return value."""
    shown = [f"{name}={_cut(value['text'], _LONGEST_VALUE)}" for name, value in (event.get("values") or {}).items()]
    result = f"-> {_cut(event['result']['text'], _LONGEST_VALUE)}" if "result" in event else ""
    text = "  ".join(filter(None, (_cut(", ".join(shown), _LONGEST), result)))
    return f"  # {text}" if text else ""


def _escape(text):
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _put(lines, folder):
    places = [_place(line, folder) if not isinstance(line, int) else None for line in lines]
    width = min(max(len(place[0]) for place in places if place), 60)
    return [_escape(f"  {place[0]:{width}}  {place[1]}".rstrip()) if place else f"  … {line} line{'s' * (line != 1)} of other code"
            for line, place in zip(lines, places, strict=True)]


def _read_tail(file, window, seconds, until, pid):
    options = [f"--last={seconds:.3f}"] if seconds is not None else []
    options += ["--until-mark", until] if until is not None else []
    options += ["--process", pid] if pid is not None else []
    return json.loads(run_kymo("tail", "--json", "--kind", _KINDS, "-n", window, *options, file))["processes"]


def _everything(_file):
    return "user"


def _choose(processes, count, owner_of, tid, traceback):
    """(process, thread, its last lines) of each thread that ran something."""
    threads, until_ns = [], None
    for process in processes:
        for thread in process["threads"]:
            events = thread["events"]
            if thread["tid"] == tid and (at := _find_failure(events, traceback)) is not None:
                events = events[:at + 1]
                until_ns = events[at]["t_ns"] + events[at]["t_err_ns"]
                thread["failure"] = events[-1]
            threads.append((process, thread, events))
    followed = []
    for process, thread, events in threads:
        if until_ns is not None and thread["tid"] != tid:
            events = [event for event in events if event["t_ns"] - event["t_err_ns"] <= until_ns]
        followed.append((process, thread, *_follow(events, owner_of)))
    if all(event["is_other"] for _, _, events, _ in followed for event in events):
        for event in (event for _, _, events, last in followed for event in (*events, last) if event):
            event["is_other"] = False
    for process, thread, events, last in followed:
        if lines := _lines(events, last, count):
            yield process, thread, lines


def read(file, count, *, owner_of=_everything, seconds=None, until=None, pid=None, tid=None, traceback=()):
    """(lines of text, how the first process ended) of the trace.

    `owner_of`: leave out what belongs to tools; `seconds`: only what ran in the last ones; `until`: only before the last mark with
    this text; `pid`: only of this process.  Lines end where thread `tid` raised the exception whose `traceback` this is, the
    innermost frame first: files, functions, lines.  Raises OSError.
    """
    for window in _WINDOWS:
        processes = _read_tail(file, window, seconds, until, pid)
        chosen = [*_choose(processes, count, owner_of, tid, traceback)]
        if any(thread["tid"] == (tid or process["pid"]) for process, thread, _ in chosen) and (
                not traceback or any(thread.get("failure") for _, thread, _ in chosen)):
            break
    text, folder = [], os.getcwd()
    for process, thread, lines in chosen:
        name = f" {thread['name']!r}" if thread["name"] else ""
        of = f"process {process['pid']}, " if len(processes) > 1 else ""
        text += [f"{of}thread {thread['thread']}{name}:", *_put(lines, folder)]
    return text, f"process {processes[0]['pid']} {processes[0]['end']}" if processes else "nothing was recorded"
