# SPDX-License-Identifier: Apache-2.0
"""`kymo report`: a run as one page that opens from disk."""

import errno
import os
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from typing import Any

import kymo
from kymo import _page
from kymo._options import Options
from kymo._output import output_file
from kymo._project import Shown
from kymo.profile import _tree, charts, command, durations, flamegraph, page, timeline, told_values
from kymo.profile._tree import Line, Profile, Slice, Thread
from kymo.profile.edges import edges_of, function_of, times_of
from kymo.profile.names import one_line, qualified, thread_name
from kymo.profile.overhead import take_off
from kymo.profile.timeline import Run, Task, Timeline

MOST_FUNCTIONS, MOST_EDGES, MOST_BOXES = 5000, 20_000, 20_000
MOST_LINES, AROUND = 6000, 4  # of sources; before and behind what ran
MOST_GAPS = MOST_MARKS = 500
MOST_TASKS = 100


def main(words: list[str], version: str = "") -> int:
    """@words: the verb and its words.  Returns the exit status."""
    return command.run(lambda: _report(words, version))


def _report(words: list[str], version: str) -> int:
    options = Options(words[0], words[1:])
    command.check_shown(options)
    (path,), output = options.operands, options.word("output") or ""
    if os.path.exists(output) and not options.flag("force"):
        command.warn(f"{output} already exists; use -f to replace it")
        return command.FAILURE
    wanted = command.slice_of(options)
    with kymo.open(path) as trace:
        profile = _tree.read(path, wanted, lines=True)
        calls = timeline.read(path, wanted, max(MOST_BOXES, 2 * len(trace.threads)))
        shown, overhead = command.shown_of(options, path), options.number("overhead") or 0
        parts = Page(trace, path, profile, calls, wanted, shown, overhead, version).parts()
        _save(parts, output)
    return 0


def _save(parts: Iterator[str], output: str) -> None:
    with output_file(output) as file:
        file.writelines(part.encode() for part in parts)


def _rows(title: str, rows: list[tuple[str, ...]], *columns: str) -> str:
    head = "".join(f"<th>{column}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_page.text(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
    heading = f"<h3>{title}</h3>" if title else ""
    table = f'<table class="numbers sorted"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'{heading}<div class="wide">{table}</div>\n'


def _count(number: int, what: str) -> str:
    return f"{number:,}".replace(",", " ") + f" {what}{'' if number == 1 else 's'}"


def _moment(ns: int, error_ns: int) -> str:
    return f"{durations.bounded_text(ns, error_ns)} ± {durations.error_text(error_ns)}" if error_ns else durations.text(ns, 0)


class Page:
    def __init__(
        self, trace: Any, path: str, profile: Profile, calls: Timeline, wanted: Slice, shown: Shown, overhead_ns: int, version: str
    ) -> None:
        self.trace, self.path, self.profile, self.calls = trace, path, profile, calls
        self.wanted, self.version, self.shown = wanted, version, shown
        self.overhead_ns = overhead_ns
        self.values = told_values.read(trace, wanted)
        take_off(profile, overhead_ns)
        self.times = {times.function: times for times in sorted(times_of(profile), key=lambda each: -each.self_ns)}
        self.edges = edges_of(profile)
        self.cut = {function_of(node) for node in profile.nodes if node.is_cut}
        self.numbers = flamegraph.Numbers()
        for function in self.times:
            self.numbers(function)

    def parts(self) -> Iterator[str]:
        flame = charts.flame(self.profile, self.numbers)
        chart = self._timeline()
        title = os.path.basename(self.path)
        yield page.head(title)
        yield f"<h1>{_page.text(title)}</h1>\n"
        yield self._facts()
        sections = ("functions", "graph", "source", "losses", "summary")
        yield f"<nav><a href=#threads>Timeline</a>{''.join(f'<a href=#{part}>{part.capitalize()}</a>' for part in sections)}</nav>\n"
        yield from (self._threads(chart), self._function_table(), self._graph(flame))
        yield from self._source()
        yield from self._losses()
        yield self._summary()
        yield _page.data("data", self._data(flame, chart))
        yield page.scripts() + "</body></html>\n"

    def _facts(self) -> str:
        """The facts that a reader of the page looks for first."""
        facts = [
            ("lasted", durations.text(self.profile.end_ns - self.profile.begin_ns, 0)),
            ("processes" if len(self.trace.processes) != 1 else "process", str(len(self.trace.processes))),
            ("threads" if len(self.profile.threads) != 1 else "thread", str(len(self.profile.threads))),
            ("calls", _count(sum(times.calls for times in self.profile.times), "").strip(" s")),
            ("events", _count(self.profile.events, "").strip(" s")),
            ("events lost", _count(self.profile.lost, "").strip(" s")),
        ]
        values = "<p>It holds what variables held.</p>" if self.values else ""
        command = " ".join(self.trace.facts["command"]) or "?"
        return f'<p class="command">{_page.text(command)}</p>{_page.cards(facts)}{values}'

    def _summary(self) -> str:
        facts, config = self.trace.facts, self.trace.config or {}
        pythons = sorted({process["python"].split()[0] for process in self.trace.processes if process["python"]})
        started = datetime.fromtimestamp(facts["started_unix_ns"] / 1e9, UTC)
        ends = [f"process {each['pid']}: {each['end']}" for each in self.trace.processes]
        said = [
            ("Command", " ".join(facts["command"]) or "?"),
            ("Directory", facts["directory"] or "?"),
            ("Host", facts["host"] or "?"),
            ("Python", ", ".join(pythons) or "?"),
            (
                "Recorded",
                f"{started:%Y-%m-%d %H:%M:%S} UTC, events {config.get('profile') or 'as listed'}, "
                f"clock {config.get('clock', '?')}",
            ),
            ("Lasted", durations.text(self.profile.end_ns - self.profile.begin_ns, 0)),
            ("Processes", f"{len(self.trace.processes)}: {'; '.join(ends[:20])}{' …' if len(ends) > 20 else ''}"),
            ("Threads", str(len(self.profile.threads))),
            ("Events", _count(self.profile.events, "event")),
            ("Lost", _count(self.profile.lost, "event")),
            ("Values", f"{config.get('values')}: this page holds what variables held" if self.values else ""),
            ("Part", _described(self.wanted)),
            ("Made by", f"Kymo {self.version}".strip()),
        ]
        items = "".join(f"<dt>{key}</dt><dd>{_page.text(value)}</dd>" for key, value in said if value)
        notes = [
            "Time is what passed on the clock while a call was on top of its thread's stack, waiting included; what "
            "the recorder itself took is in it.",
            "Where calls follow each other fast, what they took together was measured, and is spread over them by what each usually takes.",
            "On the timeline, the time of a call with a ~ is not more than the bound of its error, and a guess; of one with a &lt; "
            "that is all that is known.",
        ]
        if self.overhead_ns:
            notes[0] = (
                "Time is what passed on the clock while a call was on top of its thread's stack, waiting included, "
                f"less {durations.text(self.overhead_ns, 0)} for each recorded call and return; the timeline and "
                "sources have it all."
            )
        return f'<section id="summary"><h2>Summary</h2><dl>{items}</dl><p>{" ".join(notes)}</p></section>\n'

    def _function_table(self) -> str:
        columns = ((0, "Function"), (2, "Calls"), (4, "Self"), (5, "Total"))
        head = "".join(
            f'<th scope="col"><button type="button" data-key="{key}">{title}<span aria-hidden="true"></span></button>'
            "</th>"
            for key, title in columns
        )
        more = len(self.times) - MOST_FUNCTIONS
        left_out = f"<p>{more} functions that took less time themselves are left out.</p>" if more > 0 else ""
        edges = len(self.edges) - MOST_EDGES
        left_out += (
            f"<p>Of who called whom, {edges} pairs that took the least time are left out.</p>" if edges > 0 else ""
        )
        return (
            '<section id="function-table"><h2 id="functions-title">Functions</h2>'
            '<p><label>Search <input id="search" type="search" autocomplete="off"></label> '
            f'{self._others()} <span id="found" role="status"></span></p>{left_out}'
            '<div id="selected" role="region" aria-live="polite" aria-label="The selected function" hidden></div>'
            '<div class="wide"><table id="functions" class="numbers" aria-labelledby="functions-title">'
            f"<thead><tr>{head}</tr></thead>"
            '<tbody></tbody></table></div><p><button type="button" id="more" hidden>More</button></p>'
            "<noscript><p>The table and the charts are drawn by a script, which is part of this page.</p></noscript>"
            "</section>\n"
        )

    def _others(self) -> str:
        """The control that shows functions of code that is not the project's; only without a pattern of files."""
        other = [times for function, times in self.times.items() if not self.shown.has(function.file)]
        if not other or not self.shown.folds:
            return ""
        took = durations.text(sum(times.self_ns for times in other), sum(times.self_err_ns for times in other))
        return f'<label><input id="others" type="checkbox"> also {_count(len(other), "function")} of other code, {_page.text(took)} themselves</label>'

    def _graph(self, flame: dict[str, Any]) -> str:
        return (
            f'<section id="graph"><h2>Call graph</h2><p>{flamegraph.HOW}</p>{flamegraph.left_out(flame)}'
            f"{page.chart('flame', 'Call graph')}</section>\n"
        )

    def _threads(self, chart: dict[str, Any]) -> str:
        merged = self.calls.merged_ns
        note = (
            f"<p>Of {_count(self.calls.calls, 'call')}, those shorter than {durations.text(merged, 0)} are drawn "
            "together with what they called and with others beside them, hatched, with their number.</p>"
            if merged
            else f"<p>All of {_count(self.calls.calls, 'call')}.</p>"
        )
        if tasks := len(self.calls.tasks):
            which = f"the {MOST_TASKS} that ran longest of {tasks}" if tasks > MOST_TASKS else str(tasks)
            note += f"<p>Below each thread, its asyncio tasks, with round corners while they run: {which}.</p>"
        drawn = page.chart("timeline", "Calls of threads over time")
        return f'<section id="threads"><h2>Timeline</h2>{drawn}{note}{self._marks()}</section>\n'

    def _marks(self) -> str:
        marks = self.trace.marks[:MOST_MARKS]
        if not marks:
            return ""
        rows = [
            (
                mark["text"] or "?",
                str(self.trace.threads[mark["thread"]]["name"] or "?"),
                durations.text(mark["t_ns"], 0),
            )
            for mark in marks
        ]
        more = f"<p>and {len(self.trace.marks) - MOST_MARKS} more</p>" if len(self.trace.marks) > MOST_MARKS else ""
        return f"<details><summary>Marks</summary>{_rows('', rows, 'Mark', 'Thread', 'At')}{more}</details>"

    def _timeline(self) -> dict[str, Any]:
        chart, rows, first_rows = charts.Chart(), [], {}
        depths: dict[Thread, int] = {}
        runs = self._runs()
        for box in self.calls.boxes:
            depths[box.thread] = max(depths.get(box.thread, 0), box.depth + 1)
        for thread in self.calls.threads:
            first_rows[thread] = len(rows) + 1
            rows += [charts.title(thread), *[None] * max(depths.get(thread, 0), 1)]
            for task in (task for task in runs if task.thread is thread):
                rows += [f"{one_line(task.name)}, a task of {thread_name(thread)}", None]
                for run in runs[task]:
                    taken = durations.bounded_text(run.end_ns - run.begin_ns, run.begin_err_ns + run.end_err_ns)
                    flags = run.flags | charts.TASK
                    chart.add(
                        len(rows) - 1, run.begin_ns, run.end_ns, self.numbers(run.function), run.times, flags, taken, ""
                    )
        for box in self.calls.boxes:
            taken = durations.bounded_text(box.end_ns - box.begin_ns, box.begin_err_ns + box.end_err_ns)
            row = first_rows[box.thread] + box.depth
            chart.add(row, box.begin_ns, box.end_ns, self.numbers(box.function), box.calls, box.flags, taken, "")
        data = chart.as_data(self.calls.begin_ns, self.calls.end_ns, rows)
        del data["more"]
        data["notes"] = [
            [gap.t_ns, first_rows[gap.thread], f"{gap.lost} events lost: {gap.reasons}"]
            for gap in self.calls.gaps[:MOST_GAPS]
        ]
        by_thread = {(thread.pid, thread.number): first_rows[thread] for thread in self.calls.threads}
        for mark in self.trace.marks[:MOST_MARKS]:
            of = self.trace.threads[mark["thread"]]
            if row := by_thread.get((of["pid"], of["number"])):
                data["notes"].append([mark["t_ns"], row, mark["text"] or "?"])
        return data

    def _runs(self) -> dict[Task, list[Run]]:
        """The runs of the tasks shown, in the order in which they first ran."""
        runs: dict[Task, list[Run]] = {task: [] for task in self.calls.tasks}
        for run in self.calls.runs:
            runs[run.task].append(run)
        took = {task: sum(run.end_ns - run.begin_ns for run in of) for task, of in runs.items()}
        shown = set(sorted(runs, key=lambda task: -took[task])[:MOST_TASKS])
        return {task: of for task, of in runs.items() if task in shown}

    def _data(self, flame: dict[str, Any], chart: dict[str, Any]) -> dict[str, Any]:
        shown = dict.fromkeys([*flame["function"], *chart["function"]])
        functions, edges = [], []
        for number, function in enumerate(self.numbers.of):
            of = self.times.get(function)
            told = self.values.call(function.file, function.name) if self.values else ""
            row = [qualified(function), charts.place(function)]
            is_other = int(not self.shown.has(function.file))
            if of is None or (number >= MOST_FUNCTIONS and number not in shown):
                functions.append([*row, 0, 0, 0, 0, "?", "?", 0, told, is_other])
                continue
            texts = durations.text(of.self_ns, of.self_err_ns), durations.text(of.total_ns, of.total_err_ns)
            functions.append([*row, of.calls, of.resumes, of.self_ns, of.total_ns, *texts, int(function in self.cut), told, is_other])
        ordered = sorted(self.edges.items(), key=lambda item: -item[1].total_ns)
        for edge, times in ordered[:MOST_EDGES]:
            taken = durations.text(times.total_ns, times.total_err_ns)
            edges.append([self.numbers(edge.caller), self.numbers(edge.callee), times.calls, taken, times.total_ns])
        is_filtered = not self.shown.folds
        return {"functions": functions, "is_filtered": is_filtered, "edges": edges, "flame": flame, "timeline": chart}

    def _source(self) -> Iterator[str]:
        yield '<section id="source"><h2>Source</h2>\n'
        files: dict[str, dict[int, Line]] = {}
        for line in self.profile.lines:
            if line.function.file is not None:
                of = files.setdefault(line.function.file, {})
                of[line.line] = _sum(of.get(line.line), line)
        if not files:
            yield "<p>No lines: the recording does not have them, or none ran in the part that is shown.</p>"
        else:
            yield (
                "<p>How often each line ran, and what it took itself, without what it called. Bold, with an edge: a "
                "tenth of its file's time or more.</p>"
            )
        if self.values:
            cut = f", of the first {_count(told_values.EVENTS, 'event')}" if self.values.is_cut else ""
            yield (
                f"<p>Behind a line: what variables got when it ran last{cut}, the arguments where a function begins, and what "
                "was returned (-&gt;) or raised.</p>"
            )
        ordered = sorted(files.items(), key=lambda item: -sum(each.self_ns for each in item[1].values()))
        own = [item for item in ordered if self.shown.has(item[0])]
        other = [item for item in ordered if self.shown.folds and not self.shown.has(item[0])]
        left_out: list[str] = []
        room = yield from self._files(own, MOST_LINES, left_out)
        if other:
            yield f'<details id="other-files"><summary>{_count(len(other), "file")} of other code</summary>\n'
            yield from self._files(other, room, left_out)
            yield "</details>\n"
        if left_out:
            yield (
                f"<details><summary>{_count(len(left_out), 'file')} left out: no source, no time, or no room</summary>"
                f"{''.join(f'<div><code>{_page.text(file)}</code></div>' for file in left_out[:1000])}</details>\n"
            )
        yield "</section>\n"

    def _files(
        self, files: list[tuple[str, dict[int, Line]]], room: int, left_out: list[str]
    ) -> Generator[str, None, int]:
        """Returns the number of lines for which there is still room."""
        for file, lines in files:
            text = self._text(file)
            if room <= 0 or text is None or not any(line.self_ns for line in lines.values()):
                left_out.append(file)
                continue
            part = list(_source_rows(text[0], lines, room, self.values.of(file) if self.values else {}))
            room -= len(part)
            doubt = "" if text[1] else ", not known to be what ran"
            took = durations.text(
                sum(each.self_ns for each in lines.values()), sum(each.self_err_ns for each in lines.values())
            )
            yield (
                f"<details><summary><code>{_page.text(file)}</code>: {_page.text(took)}{doubt}</summary>"
                f'<div class="wide"><table class="source"><tbody>\n{"".join(part)}</tbody></table></div></details>\n'
            )
        return room

    def _text(self, file: str) -> tuple[bytes, bool] | None:
        """None: there is none, or code that is in no file has several by this name."""
        texts: set[tuple[bytes, bool]] = set()
        for thread in range(len(self.trace.threads)):
            try:
                texts.add(self.trace.source(file, thread))
            except kymo.Error as error:
                if error.errno == errno.ENOTUNIQ:
                    return None
            if texts and not file.startswith("<"):
                break
        return texts.pop() if len(texts) == 1 else None

    def _losses(self) -> Iterator[str]:
        yield '<section id="losses"><h2>Losses</h2>\n'
        lossy = [thread for thread in self.profile.threads if thread.lost]
        if not lossy and not self.calls.gaps:
            yield "<p>Nothing was lost in the part that is shown.</p></section>\n"
            return
        yield _rows("", [(charts.title(thread), str(thread.lost)) for thread in lossy], "Thread", "Events lost")
        gaps = [
            (charts.title(gap.thread), str(gap.lost), gap.reasons, _moment(gap.t_ns, gap.t_err_ns))
            for gap in self.calls.gaps[:MOST_GAPS]
        ]
        yield _rows("Gaps", gaps, "Thread", "Events", "Why", "At")
        if more := len(self.calls.gaps) + self.calls.gaps_left_out - len(gaps):
            yield f"<p>and {_count(more, 'gap')} more</p>"
        yield "</section>\n"


def _described(wanted: Slice) -> str:
    said = [
        f"{name.removesuffix('_ns').replace('_', ' ')} {f'{value / 1e9} s' if name.endswith('_ns') else value}"
        for name, value in wanted._asdict().items()
        if value
    ]
    return ", ".join(said)


def _sum(known: Line | None, more: Line) -> Line:
    if known is None:
        return more
    return Line(
        known.function,
        known.line,
        known.hits + more.hits,
        known.self_ns + more.self_ns,
        known.self_err_ns + more.self_err_ns,
    )


def _source_rows(text: bytes, lines: dict[int, Line], room: int, values: dict[int, str]) -> Iterator[str]:
    """Lines that ran and those around them."""
    source = text.decode("utf-8", "replace").splitlines()
    whole = sum(each.self_ns for each in lines.values())
    shown = sorted(
        {near for line in lines for near in range(line - AROUND, line + AROUND + 1) if 0 < near <= len(source)}
    )
    last = 0
    for count, number in enumerate(shown):
        if number != last + 1:
            yield '<tr class="cut-here"><td class="n">⋮</td><td></td><td></td><td></td></tr>\n'
        if count >= room:
            more = f"{len(shown) - count} more lines: no room"
            yield f'<tr class="cut-here"><td class="n">…</td><td></td><td></td><td>{more}</td></tr>\n'
            return
        last, of = number, lines.get(number)
        taken = _page.text(durations.text(of.self_ns, of.self_err_ns)) if of else ""
        hot = ' class="hot"' if of and of.self_ns * 10 >= whole > 0 else ""
        told = f'<span class="value">{_page.text(values[number])}</span>' if number in values else ""
        yield (
            f'<tr{hot}><td class="n">{number}</td><td class="hits">{f"{of.hits}×" if of else ""}</td>'
            f'<td class="time">{taken}</td><td class="text">{_page.code(source[number - 1])}{told}</td></tr>\n'
        )
