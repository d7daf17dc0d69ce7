# SPDX-License-Identifier: Apache-2.0
"""Suspects for people, and as JSON."""

import json
import math

from kymo.coverage.report import printable
from kymo.coverage.source_text import lines
from kymo.suspects.attempts import Attempt
from kymo.suspects.ranking import Suspect, Support


class Sources:
    """Lines of the files as they were when they ran."""

    def __init__(self, attempts: list[Attempt]):
        self._texts: dict[str, list[str]] = {}
        for attempt in attempts:
            for file, source in attempt.sources.items():
                if file not in self._texts:
                    self._texts[file] = lines(source)

    def line(self, file: str, number: int) -> str | None:
        text = self._texts.get(file, [])
        return text[number - 1].strip() if 0 < number <= len(text) else None


def put_text(suspects: list[Suspect], attempts: list[Attempt], sources: Sources) -> None:
    incomplete = sum(attempt.is_incomplete for attempt in attempts)
    if incomplete:
        print(f"{incomplete} of {len(attempts)} attempts are incomplete: what is not seen in them is not known\n")
    for number, suspect in enumerate(suspects, 1):
        facts = suspect.facts
        print(f"{number:3}  {suspect.score:5.2f}  {_counts(suspect.support)}  "
              f"{printable(suspect.file)}:{facts[0].lines[0]}  {printable(suspect.function or '')}".rstrip())
        shown: set[int] = set()
        for fact in facts:
            print(f"            {fact.kind:13} line {fact.lines[0]} {printable(fact.text)}")
            for line in fact.lines:
                text = sources.line(suspect.file, line)
                if text is not None and line not in shown:
                    print(f"              {line:5} | {printable(text)}")
                shown.add(line)


def _counts(support: Support) -> str:
    return (f"in {support.failing} of {support.failing_known} failing, "
            f"{support.passing} of {support.passing_known} passing")


def put_json(suspects: list[Suspect], attempts: list[Attempt], sources: Sources, measure: str, test: str | None) -> None:
    """An infinite score becomes null."""
    print(json.dumps({
        "measure": measure,
        "test": test,
        "attempts": [{"trace": attempt.path, "failed": attempt.has_failed, "incomplete": attempt.is_incomplete,
                      "order": attempt.has_sequences, "values": bool(attempt.sequences.values.observed)} for attempt in attempts],
        "suspects": [{
            "rank": number,
            "score": suspect.score if math.isfinite(suspect.score) else None,
            **suspect.support._asdict(),
            "file": suspect.file,
            "function": suspect.function,
            "facts": [{"kind": fact.kind, "text": fact.text, **({"expression": fact.expression} if fact.expression else {}),
                       "lines": [{"line": line, "source": sources.line(suspect.file, line)} for line in fact.lines]}
                      for fact in suspect.facts],
        } for number, suspect in enumerate(suspects, 1)],
    }, indent=2))  # fmt: skip
