# SPDX-License-Identifier: Apache-2.0
"""What variables held when a line last ran, as text for pages."""

from dataclasses import dataclass, field
from typing import Any

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
        """By line.  The function made by a `def` is left out if its arguments are shown, and so is a mere `-> None`."""
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
    """The values of an open trace.  None: it has none, or only a test or function is wanted."""
    level = (trace.config or {}).get("values") or "none"
    if level == "none" or wanted.test or wanted.function:
        return None
    chosen = [(wanted.process is None or thread["pid"] == wanted.process) and
              (wanted.thread is None or wanted.thread in (str(thread["number"]), thread["name"])) for thread in trace.threads]
    kinds = (*_ENTRIES, *_EXITS, "RAISE", "GAP", *(["LINE"] if level != "args" else []))
    found = trace._last_values(chosen, kinds, wanted.from_ns, wanted.to_ns, EVENTS)
    told = ToldValues(is_cut=found["is_cut"])
    for file, function, line, kind, text in found["rows"]:
        text = text and text.strip()
        if line < 0:
            told.calls.setdefault((file, function), ["", ""])[kind == "PY_RETURN"] = text
        elif text is not None:
            told.lines.setdefault(file, {}).setdefault(line, {})[kind] = text
        elif line in told.lines.get(file, ()):
            told.lines[file][line].pop(kind, None)  # it changed nothing this time
    return told
