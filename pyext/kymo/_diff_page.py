# SPDX-License-Identifier: Apache-2.0
"""The report of `kymo diff` as a page that needs nothing else: the JSON on standard input, the page on standard output.

`kymo diff --html` runs it by itself, without the rest of the package.
"""

import difflib
import json
import sys
from html import escape

STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 90em; padding: 1em 1.25em 3em; color: #1c1e21; background: #fff; overflow-wrap: anywhere }
h1 { font-size: 1.5em; margin: .3em 0 } h2 { font-size: 1.1em; margin: 0 0 .3em }
section { border: 1px solid #d5d8dc; border-radius: .5em; padding: .8em 1em; margin: 1em 0 } code { font-size: .92em }
.runs { display: flex; flex-wrap: wrap; gap: .6em; list-style: none; padding: 0 } .runs li { border: 1px solid #d5d8dc; border-radius: .5em;
  padding: .4em .9em; background: #f3f4f6 } .wide { overflow-x: auto; border: 1px solid #d5d8dc; border-radius: .3em }
table.code { border-collapse: collapse; width: 100%; min-width: 44em; table-layout: fixed; font: 13px/1.5 ui-monospace, monospace }
table.code th { text-align: left; font: bold 13px/1.5 system-ui, sans-serif; padding: .2em .6em; background: #f3f4f6 }
table.code td:nth-child(4), table.code th:nth-child(2) { border-left: 1px solid #d5d8dc }
table.code td { vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere; padding: 0 .4em }
table.code td.n { text-align: right; color: #5f6670; user-select: none } table.code td.m { font-weight: bold; user-select: none }
tr.both td { background: #eef2ff } td.pass { background: #e3f6e5 } td.fail { background: #fde4e1 }
.beneath { margin-left: 2em } .pass-name { color: #176a21; font-weight: bold } .fail-name { color: #a3170b; font-weight: bold }
table.values { border-collapse: collapse; margin: .5em 0 } table.values td, table.values th { padding: 0 .6em; text-align: left; vertical-align: top; \
overflow-wrap: anywhere } details.value { display: inline }
ul { margin: .3em 0 } details { margin: .5em 0 } summary { cursor: pointer }
@media (prefers-color-scheme: dark) {
  body { color: #e4e6e9; background: #16181b } section, .runs li, .wide, table.code td:nth-child(4), table.code th:nth-child(2) { border-color: #3a3f45 }
  .runs li, table.code th { background: #202327 } table.code td.n { color: #9aa1aa } tr.both td { background: #23283c }
  td.pass { background: #16331a } td.fail { background: #431b17 } .pass-name { color: #7fd48a } .fail-name { color: #ff9a8f }
}
"""
TITLES = {
    "branch": "went another way", "loop": "a loop went around more often", "call": "called something else",
    "exception": "raised an exception", "left": "left in another way", "thread": "a thread that the other run does not have",
    "process": "a process that the other run does not have", "ending": "the process ended in another way",
    "order": "threads in another order", "unknown": "not known: something is missing here",
}
AROUND = 6  # lines of context
VALUE_CHARACTERS = 200  # of a value, shown at once
SIDES = ("pass", "fail")


def text(value) -> str:
    return escape("?" if value is None else str(value))


def name(side: str) -> str:
    return f'<span class="{side}-name">{side.upper()}</span>'


def place(told: dict) -> str:
    line = "" if told.get("line") is None else f":{told['line']}"
    return f"<code>{text(told.get('file'))}{line}</code> {text(told.get('function'))}"


def position(told: dict) -> str:
    return f"#{told['n']}" + (f".{told['k']}" if told["k"] else "")


def thread(told: dict) -> str:
    return f"thread {told['number']} {text(told['name'] or '')} of process {told['process']}"


class Sources:
    """The text of files on both sides; the lines of one side against those of the other."""

    def __init__(self, report: dict):
        self.files = report.get("sources") or {side: {} for side in SIDES}
        self.rows = {}

    def other(self, side: str, file: str):
        """The same file on the other side, or None."""
        wanted = self.files[side][file]["name"]
        found = self.files[SIDES[1 - SIDES.index(side)]]
        return next((path for path, source in found.items() if source["name"] == wanted), None)

    def pair(self, difference: dict) -> tuple:
        """Paths of the file that contains it, on both sides."""
        paths = [None, None]
        for i, side in enumerate(SIDES):
            told = difference[side] or {}
            file = (told.get("last_common") or told.get("next") or {}).get("file")
            if file in self.files[side]:
                paths[i] = file
                if paths[1 - i] is None:
                    paths[1 - i] = self.other(side, file)
        return tuple(paths)

    def aligned(self, paths: tuple) -> list:
        """Rows of (number, line) on both sides; None if a side has no such line."""
        if paths not in self.rows:
            left, right = ([] if path is None else self.files[side][path]["text"].splitlines() for side, path in zip(SIDES, paths))
            if left == right or not left or not right:
                count = max(len(left), len(right))
                blocks = [("equal" if left == right else "replace", 0, len(left), 0, len(right))] if count else []
            else:
                blocks = difflib.SequenceMatcher(None, left, right, autojunk=len(left) + len(right) > 4000).get_opcodes()
            rows = []
            for _, a, a_end, b, b_end in blocks:
                for i in range(max(a_end - a, b_end - b)):
                    rows.append(((a + i + 1, left[a + i]) if a + i < a_end else None,
                                 (b + i + 1, right[b + i]) if b + i < b_end else None))
            self.rows[paths] = rows
        return self.rows[paths]


def marks_of(difference: dict) -> list:
    """For each side, what to write beside which line."""
    marks = [{}, {}]
    for i, side in enumerate(SIDES):
        told = difference[side]
        if not told or "next" not in told:
            continue
        for earlier in told.get("before") or []:
            marks[i][earlier["line"]] = "both ran"
        if told.get("last_common"):
            marks[i][told["last_common"]["line"]] = "both ran"
        if told["next"]["line"] is not None:
            known = marks[i].get(told["next"]["line"])
            marks[i][told["next"]["line"]] = f"{known}, then {side.upper()}" if known else f"{side.upper()} ran"
        raised = told.get("exception")
        if raised and raised["line"] is not None and raised["file"] == told["next"]["file"]:
            marks[i][raised["line"]] = f"{side.upper()} raised"
    return marks


def code(sources: Sources, difference: dict) -> str:
    """Both sources side by side, around the lines that are reported."""
    paths, marks = sources.pair(difference), marks_of(difference)
    rows = sources.aligned(paths)
    wanted = set()
    for i, row in enumerate(rows):
        if any(row[s] and row[s][0] in marks[s] for s in (0, 1)):
            wanted.update(range(i - AROUND, i + AROUND + 1))
    out, last = [], None
    for i, row in enumerate(rows):
        if i not in wanted:
            continue
        if last is not None and i != last + 1:
            out.append('<tr><td class="n">⋮</td><td></td><td></td><td class="n">⋮</td><td></td><td></td></tr>')
        last = i
        told = [marks[s].get(row[s][0], "") if row[s] else "" for s in (0, 1)]
        cells = []
        for s, side in enumerate(SIDES):
            style = f' class="{side}"' if side.upper() in told[s] else ""
            number, line = row[s] or ("", "")
            cells.append(f'<td class="n">{number}</td><td class="m">{text(told[s])}</td><td{style}>{text(line)}</td>')
        out.append(f"<tr{' class=both' if all(t == 'both ran' for t in told) else ''}>{''.join(cells)}</tr>")
    if not out:
        return ""
    # The columns of a fixed layout are those of its first row.
    columns = "".join(f'<col style="width: {width}">' for width in ("3.5em", "6.5em", "auto") * 2)
    head = "".join(f'<th colspan="3">{name(side)}</th>' for side in SIDES)
    return f'<div class="wide"><table class="code"><colgroup>{columns}</colgroup><tr>{head}</tr>{"".join(out)}</table></div>'


def value(told: dict) -> str:
    whole = told["value"]["text"] if told["value"] else "?"
    if len(whole) <= VALUE_CHARACTERS:
        return f"<code>{text(whole)}</code>"
    return f"<details class='value'><summary><code>{text(whole[:VALUE_CHARACTERS])}…</code></summary><code>{text(whole)}</code></details>"


def variable(told: dict) -> str:
    return f"<code>{text(told['name'] or told['what'])}{text(told['path'])}</code>"


def values(difference: dict) -> str:
    """What the frame's variables held on both sides where they diverged."""
    rows = "".join(f"<tr><td>{variable(told)}</td><td class=pass>{value(told['pass'])}</td><td class=fail>{value(told['fail'])}</td></tr>"
                   for told in difference.get("values") or [])
    return f"<table class='values'><tr><th>values</th><th>PASS</th><th>FAIL</th></tr>{rows}</table>" if rows else ""


def findings(report: dict) -> str:
    """Values that differed while both sides still did the same."""
    items = []
    for i, told in enumerate((report.get("values") or {}).get("first") or []):
        before = "" if told["lines_before"] is None else f", {told['lines_before']} lines before"
        items.append(f"<li>{'then' if i else 'The first value that differs:'} {variable(told)} at {place(told['fail'])}: {value(told['pass'])} in "
                     f"{name('pass')}, {value(told['fail'])} in {name('fail')}{before} {position(told['fail']['position'])}</li>")
    return f"<ul class='findings'>{''.join(items)}</ul>" if items else ""


def alone(side: str, told: dict) -> list:
    items, only, raised = [], told.get("alone") or {}, told.get("exception")
    if only.get("lines") or only.get("calls"):
        around = f"{only['rounds']} times around, " if only["rounds"] else ""
        called = ", ".join(map(text, only["called"])) + (", …" if only["calls"] > len(only["called"]) else "")
        items.append(f"{name(side)} alone: {around}{only['lines']} lines, {only['calls']} calls{': ' if called else ''}{called}")
    if raised:
        items.append(f"{name(side)} raised {value(raised) if raised.get('value') else text(raised['type'])} at {place(raised)} {position(raised['position'])}")
        if raised.get("handler"):
            items.append(f"{name(side)}: it went to {place(raised['handler'][0])}{shown(raised['handler'])}")
    return items


def shown(lines: list) -> str:
    return "".join(f" <code>{text(line['text'].strip())}</code>" for line in lines if line["text"])


def moment(side: str, told: dict) -> list:
    following = told["next"]
    what = f" calls {text(following['called'])}" if following.get("called") else f" ({text(following['what'])})"
    if unsure := following.get("may_have_run"):
        what = f" (the thread ended here: lines {unsure['first_line']} to {unsure['last_line']} may have run)"
    first, begins = following.get("body"), []
    if first and not first["library"]:
        begins = [f"{name(side)}: it begins at {place(first)}{shown([first])}"]
    return [f"{name(side)} next: line {text(following['line'])}{what}{shown([following])} {position(told['position'])}", *begins,
            *alone(side, told)]


def order(told: dict) -> str:
    return "".join(f"<li>{line}</li>" for line in (
        f"{name(told['side'])} alone: {thread(told['thread'])} stopped between {place(told['before'])} "
        f"{position(told['before_position'])} and line {text(told['after']['line'])} {position(told['position'])}",
        f"while {thread(told['other_thread'])} ran {place(told['other'])} to line {text(told['other']['last_line'])} "
        f"{position(told['other_position'])}"))


def loops(told: dict) -> list:
    return [f"in {'' if loop['round'] is None else 'round ' + str(loop['round']) + ' of '}the loop at {place(loop)}{shown([loop])}"
            for loop in told.get("loops") or []]


def stack(told: dict) -> str:
    frames = "".join(f"<li>{place(frame)}</li>" for frame in told.get("stack") or [])
    return f"<details><summary>stack, {told['depth']} frames</summary><ol>{frames}</ol></details>" if frames else ""


def one(sources: Sources, difference: dict) -> str:
    first = "first divergence: " if difference["number"] == 1 and difference["kind"] != "unknown" else ""
    after = f" (after {difference['beneath']})" if difference["beneath"] else ""
    times = f", {difference['count']} times" if difference["count"] > 1 else ""
    heading = f"{difference['number']}. {first}{TITLES.get(difference['kind'], '?')}{times}{after}"
    items, told = [], difference["fail"] or difference["pass"]
    if difference["kind"] in ("ending", "process"):
        for side in SIDES:
            process = difference[side]
            if process:
                items.append(f"{name(side)} process {process['pid']} <code>{text(' '.join(map(str, process['argv'])))}</code>: "
                             f"{text(process['ending'])}")
        body = f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"
    elif difference["kind"] == "order":
        body = f"<ul>{order(difference['order'])}</ul>" + code(sources, difference)
    else:
        for side in SIDES:
            items += moment(side, difference[side]) if difference[side] else []
        items += loops(told) if told else []
        body = (f"<p>{place(told.get('last_common') or told['next'])}, {thread(told['thread'])}</p>" if told else "") + \
            code(sources, difference) + values(difference) + f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>" + (stack(told) if told else "")
    style = ' class="beneath"' if difference["beneath"] else ""
    return f'<section id="d{difference["number"]}"{style}><h2>{heading}{" (library)" if difference["library"] else ""}</h2>{body}</section>'


def page(report: dict) -> str:
    sources, compared = Sources(report), report["compared"]
    runs = "".join(f"<li>{name(side)} <code>{text(report[side]['trace'])}</code> {text(report[side]['test'] or '')}: "
                   f"{text(report[side]['ending'])}</li>" for side in SIDES)
    notes = "".join(f"<p>{text(note)}</p>" for note in report["notes"])
    verdict = "They differ" if not report["same"] else "No difference is known" if report["unknown"] else "The same"
    share = 100 * compared["common"] / compared["steps"] if compared["steps"] else 100
    differences = "".join(one(sources, difference) for difference in report["differences"])
    more = f"<p>{report['more']} more differences</p>" if report["more"] else ""
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<title>kymo diff</title><style>{STYLE}</style></head>'
            f"<body><h1>{verdict}</h1><ul class='runs'>{runs}</ul>{notes}<p>{compared['threads']} threads compared, {compared['steps']} steps, "
            f"{share:.4g} % the same on both sides</p>{findings(report)}{differences}{more}</body></html>\n")


def main() -> int:
    report = json.loads(sys.stdin.buffer.read())
    try:
        sys.stdout.buffer.write(page(report).encode(errors="replace"))
        sys.stdout.flush()
    except OSError as error:
        print(f"kymo: cannot write the page: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
