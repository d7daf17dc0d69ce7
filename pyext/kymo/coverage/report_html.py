# SPDX-License-Identifier: Apache-2.0
"""A folder of pages: the table, and each file with its lines.  They need no network and no script."""

import hashlib
import os
from collections.abc import Iterator
from html import escape

from kymo._page import cards, code, head, text
from kymo._output import output_file
from kymo.coverage import source_text
from kymo.coverage.report import Report
from kymo.coverage.report_text import natural_key
from kymo.coverage.results import FileResult, Numbers

_STYLE = """
.files { font-variant-numeric: tabular-nums; } .files th { color: var(--dim); font-size: .85rem; }
.legend span { border-left: .3rem solid; padding: 0 .8rem 0 .4rem; } .files .share { min-width: 7rem; }
.files th, .files td { padding: .3rem .6rem; text-align: right;
  border-bottom: 1px solid var(--line); white-space: nowrap; }
.files th:first-child, .files td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.files tfoot td { font-weight: bold; }
.mark { border: 1px solid var(--part-edge); border-radius: .3rem; padding: 0 .3rem; font-size: .85rem; }
.source .state { width: 1ch; font-weight: bold; user-select: none; }
.source tr:target { outline: 2px solid var(--part-edge); }
.ran .state { border-left: .25rem solid var(--ran-edge); } .skip .state { border-left: .25rem solid var(--skip-edge); }
.miss { background: var(--miss); } .miss .state { border-left: .25rem solid var(--miss-edge); }
.part { background: var(--part); } .part .state { border-left: .25rem solid var(--part-edge); }
.note { color: var(--dim); font-style: italic; padding-left: 2ch; }
@media (max-width: 40rem) { .files, .files thead, .files tbody, .files tfoot { display: block; }
  .files tr { display: flex; flex-wrap: wrap; padding: .3rem 0; border-bottom: 1px solid var(--line); }
  .files th, .files td { flex: 1 0 0; padding: 0 .1rem; border: 0; } .files th { font-size: .7rem; }
  .files th:first-child, .files td:first-child { flex-basis: 100%; }
  .files th:empty, .files td:empty { display: none; } .source td { padding: 0 .2rem; } }
"""
_LEGEND = (
    '<span style="border-color: var(--ran-edge)">ran</span>'
    '<span style="border-color: var(--miss-edge)"><b>!</b> did not run</span>'
    '<span style="border-color: var(--part-edge)"><b>~</b> ran, but not all of its branches</span>'
    '<span style="border-color: var(--skip-edge)"><b>-</b> excluded</span>'
)
_MOST_CONTEXTS = 200  # listed for a line


def write(report: Report, folder: str) -> None:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    pages = {result.name: _page_name(result.name) for result in report.results}
    _save(folder, "index.html", "".join(_index(report, pages)))
    for result in report.results:
        if _is_shown(report, result):
            _save(folder, pages[result.name], "".join(_page(report, result)))


def _save(folder: str, name: str, text: str) -> None:
    with output_file(os.path.join(folder, name)) as file:
        file.write(text.encode(errors="replace"))


def _page_name(name: str) -> str:
    """A unique name for each file, whatever characters are in its name."""
    readable = "".join(c if c.isascii() and c.isalnum() else "_" for c in os.path.basename(name))[:60]
    return f"{readable}-{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}.html"


def _is_shown(report: Report, result: FileResult) -> bool:
    settings, numbers = report.settings, result.numbers
    skip_covered = settings.skip_covered if settings.html_skip_covered is None else settings.html_skip_covered
    skip_empty = settings.skip_empty if settings.html_skip_empty is None else settings.html_skip_empty
    is_covered = not numbers.missing and not numbers.partial
    return not (skip_covered and is_covered) and not (skip_empty and not numbers.statements)


def _marks(result: FileResult) -> str:
    return "".join(f' <span class="mark">{text(mark)}</span>' for mark in result.marks)


def _columns(report: Report) -> list[str]:
    return ["Statements", "Missing", "Excluded", *(["Branches", "Partial"] if report.has_branches else []), "Covered"]


def _cells(report: Report, numbers: Numbers) -> str:
    values = [numbers.statements, numbers.missing, numbers.excluded]
    if report.has_branches:
        values += [numbers.branches, numbers.partial]
    covered = f'<td class="share" style="--part: {numbers.percent:.1f}%">{report.percent_text(numbers.percent)}%</td>'
    return "".join(f"<td>{value}</td>" for value in values) + covered


def _facts(report: Report, numbers: Numbers) -> str:
    facts = [
        ("covered", report.percent_text(numbers.percent) + "%"), ("statements", str(numbers.statements)),
        ("missing", str(numbers.missing)), ("excluded", str(numbers.excluded)),
    ]  # fmt: skip
    if report.has_branches:
        facts += [("branches", str(numbers.branches)), ("partial", str(numbers.partial))]
    return cards(facts)


def _about(report: Report) -> str:
    version = f"Kymo {report.version}".strip()
    once = (
        ""
        if report.are_hits_counted
        else " Recorded once for each line and branch: that a line ran is known, not how often."
    )
    return f"<p>Made by {text(version)}.{once}</p>"


def _index(report: Report, pages: dict[str, str]) -> Iterator[str]:
    title = report.settings.html_title
    yield head(title, _STYLE)
    yield f"<h1>{text(title)}: {report.percent_text(report.total.percent)}%</h1>{_facts(report, report.total)}\n"
    columns = "".join(f"<th>{column}</th>" for column in _columns(report))
    yield f'<div class="wide"><table class="files"><thead><tr><th>File</th>{columns}</tr></thead>\n<tbody>\n'
    left_out = 0
    for result in sorted(report.results, key=lambda result: natural_key(result.name)):
        if not _is_shown(report, result):
            left_out += 1
            continue
        link = f'<a href="{pages[result.name]}">{text(result.name)}</a>{_marks(result)}'
        yield f"<tr><td>{link}</td>{_cells(report, result.numbers)}</tr>\n"
    yield f"</tbody><tfoot><tr><td>Total</td>{_cells(report, report.total)}</tr></tfoot></table></div>\n"
    if left_out:
        yield f"<p>{left_out} covered or empty files are left out.</p>"
    yield f"{_about(report)}</body></html>\n"


def _page(report: Report, result: FileResult) -> Iterator[str]:
    yield head(result.name, _STYLE)
    yield f'<p><a href="index.html">{text(report.settings.html_title)}</a></p>'
    yield f"<h1>{text(result.name)}: {report.percent_text(result.numbers.percent)}%{_marks(result)}</h1>\n"
    yield f'{_facts(report, result.numbers)}<p class="legend">{_LEGEND}</p>\n'
    lines = source_text.lines(result.counts.source) if result.counts.source is not None else None
    if lines is None:
        yield "<p>The trace does not hold the source: only lines of code that ran are known, by their numbers.</p>"
        lines = [""] * min(max(result.statements, default=0), 100_000)
    contexts = report.line_contexts(result) if report.settings.html_show_contexts else {}
    yield '<table class="source"><tbody>\n'
    for number, line in enumerate(lines, 1):
        yield _line(report, result, number, line, contexts.get(number))
    yield f"</tbody></table>{_about(report)}</body></html>\n"


def _state(result: FileResult, line: int) -> tuple[str, str, str]:
    """A line's class, its sign, and the meaning of the sign."""
    first = result.analysis.first_line(line)
    if first in result.excluded:
        return "skip", "-", "excluded"
    if first not in result.statements:
        return "", "", ""
    if first in result.missing:
        return "miss", "!", "did not run"
    if line == first and line in result.missing_exits:
        return "part", "~", "ran, but not all of its branches"
    return "ran", "", "ran"


def _line(report: Report, result: FileResult, number: int, line: str, contexts: list[str] | None) -> str:
    kind, sign, meaning = _state(result, number)
    hits = f"{result.hits[number]}×" if number in result.statements and report.are_hits_counted else ""
    title = f' title="{meaning}"' if sign else ""
    return (
        f'<tr id="L{number}" class="{kind}"><td class="n"><a href="#L{number}">{number}</a></td>'
        f'<td class="hits">{hits}</td>'
        f'<td class="state"{title}>{sign}</td><td class="text">{code(line)}{_branches(report, result, number)}'
        f"{_contexts(contexts)}</td></tr>\n"
    )


def _branches(report: Report, result: FileResult, line: int) -> str:
    """The lines that can follow, and how often they did."""
    if line not in result.exits or line in result.missing:
        return ""
    ways = []
    for to in result.exits[line]:
        where = f"to line {to}" if to > 0 else "out"
        times = result.times(line, to)
        why = result.analysis.reasons.get((line, to))
        if times:
            ways.append(f"{where} {times}×" if report.are_hits_counted else where)
        elif line not in result.analysis.no_branch:
            ways.append(f"never {where}{f', as {why}' if why else ''}")
    if not report.are_hits_counted and line not in result.missing_exits:
        return ""
    return f'<span class="note">{escape("; ".join(ways))}</span>'


def _contexts(names: list[str] | None) -> str:
    names = [name for name in names or () if name]
    if not names:
        return ""
    items = "".join(f"<div>{text(name)}</div>" for name in names[:_MOST_CONTEXTS])
    more = f"<div>and {len(names) - _MOST_CONTEXTS} more</div>" if len(names) > _MOST_CONTEXTS else ""
    return f"<details><summary>{len(names)} context{'' if len(names) == 1 else 's'}</summary>{items}{more}</details>"
