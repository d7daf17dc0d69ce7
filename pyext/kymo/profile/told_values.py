# SPDX-License-Identifier: Apache-2.0
"""What variables held when a line ran last, as text: for pages."""

import json
from dataclasses import dataclass, field
from typing import Any

from kymo._history import TEXT
from kymo.profile._tree import Slice

EVENTS = 2_000_000
_ENTRIES, _EXITS = ("PY_START", "PY_RESUME", "PY_THROW"), ("PY_RETURN", "PY_YIELD", "PY_UNWIND")


@dataclass(slots=True)
class ToldValues:
    """Each text is about a hundred columns wide."""

    lines: dict[str, dict[int, dict[str, str]]] = field(default_factory=dict)  # by file and line: of each kind of event the last
    calls: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # by file and qualified name: of arguments and results the last
    is_cut: bool = False  # only the first events were looked at

    def of(self, file: str) -> dict[int, str]:
        """By line.  That `def` makes a function is left out where its arguments are told, and so is a mere `-> None`."""
        found = {}
        for line, texts in self.lines.get(file, {}).items():
            is_def = "PY_START" in texts
            shown = [text for kind, text in texts.items()
                     if text not in ("", "-> None") and not (is_def and kind in ("LINE", "PY_RETURN") and not text.startswith("-> "))]
            if shown:
                found[line] = "  ".join(dict.fromkeys(shown))
        return found

    def call(self, file: str | None, function: str | None) -> str:
        return "  ".join(filter(None, self.calls.get((file or "", function or ""), ())))


def read(trace: Any, wanted: Slice) -> ToldValues | None:
    """Of an open trace.  None: it has none, or only a test or function is wanted."""
    level = (trace.config or {}).get("values") or "none"
    if level == "none" or wanted.test or wanted.function:
        return None
    chosen = [(wanted.process is None or thread["pid"] == wanted.process) and
              (wanted.thread is None or wanted.thread in (str(thread["number"]), thread["name"])) for thread in trace.threads]
    kinds = (*_ENTRIES, *_EXITS, "RAISE", "GAP", *(["LINE"] if level != "args" else []))
    told = ToldValues()
    stacks: list[list[int | None]] = [[] for _ in trace.threads]  # of each frame the last line
    events = trace.events(kinds=kinds, start_ns=wanted.from_ns, end_ns=wanted.to_ns, values=TEXT)
    for number, event in enumerate(events):
        if number == EVENTS:
            told.is_cut = True
            break
        if chosen[event.thread]:
            _take(told, stacks[event.thread], event)
    return told


def _take(told: ToldValues, stack: list[int | None], event: Any) -> None:
    """At a LINE event the line before it has run: what changed is told there."""
    kind, line = event.event, event.line
    if kind == "GAP":
        stack.clear()
        return
    if kind in _ENTRIES:
        stack.append(None)
    place = stack[-1] if kind == "LINE" and stack else line
    if event.values_json and event.file is not None:
        text = json.loads(event.values_json)["text"].strip()
        if place is not None:
            told.lines.setdefault(event.file, {}).setdefault(place, {})[kind] = text
        if kind in ("PY_START", "PY_RETURN"):
            call = told.calls.setdefault((event.file, event.function or ""), ["", ""])
            call[kind == "PY_RETURN"] = text
    elif kind == "LINE" and event.file in told.lines and place in told.lines[event.file]:
        told.lines[event.file][place].pop(kind, None)  # it changed nothing this time
    if kind == "LINE":
        stack[-1:] = [line]
    elif kind in _EXITS and stack:
        stack.pop()
