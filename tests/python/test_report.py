# SPDX-License-Identifier: Apache-2.0
"""`kymo report`, and flame graphs: pages that open from disk, in a real browser where there is one."""

import json
import re
from html.parser import HTMLParser

import pytest
from browser import Browser
from conftest import ROOT

NAME = "</script><script>alert(1)//\u2028&lt;"
FILE = "<img src=http://x.invalid>'\"\u2028.py"
PROGRAM = f"""
import threading
import kymo

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers(count):
    for i in range(count):
        yield i

def add(count):
    total = 0
    for i in numbers(count):
        total += i * i
    return total

exec(compile("def odd():\\n    return add(50)\\n", {FILE!r}, "exec"))
odd = type(odd)(odd.__code__.replace(co_qualname={NAME!r}), globals())

def work():
    for _ in range(20):
        odd()

kymo.mark("here </script>")
threads = [threading.Thread(target=work, name=f"worker <{{i}}>") for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
fib(12)
"""
VOID = {"meta", "input", "br", "link", "img"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def trace(kymo, folder, importing):
    script = folder / "program.py"
    script.write_text(PROGRAM)
    kymo("record", "-q", "-o", folder / "run.kymo", script, env=importing)
    return folder / "run.kymo"


@pytest.fixture(scope="module")
def page(kymo, trace, folder):
    kymo("report", "-o", folder / "report.html", trace)
    return folder / "report.html"


class Parsed(HTMLParser):
    """Elements that are closed in order, their attributes, what scripts hold."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes, self.scripts, self.rows = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag == "script":
            self.scripts.append((dict(attributes), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)


def data_of(path):
    def refuse(constant):
        raise ValueError(constant)

    parsed = Parsed(path.read_text())
    held = [text for attributes, text in parsed.scripts if attributes.get("type") == "application/json"]
    assert len(held) == 1 and len(parsed.scripts) == 2
    assert held[0].isascii() and "<" not in held[0]
    return parsed, json.loads(held[0], parse_constant=refuse)


def test_the_page_is_well_formed_and_loads_nothing(page):
    parsed, _ = data_of(page)
    targets = [value for _, name, value in parsed.attributes if name in ("src", "href", "action", "data", "srcset")]
    assert targets and all(re.fullmatch(r"#\w+", target) for target in targets)
    assert not [each for each in parsed.attributes if each[1].startswith("on")]
    assert "@import" not in page.read_text() and "url(" not in page.read_text()
    ids = [value for _, name, value in parsed.attributes if name == "id"]
    assert len(ids) == len(set(ids)) and {target[1:] for target in targets} <= set(ids)


def calls_of_fib(n):
    return 1 if n < 2 else 1 + calls_of_fib(n - 1) + calls_of_fib(n - 2)


def test_the_page_has_what_ran(page):
    _, data = data_of(page)
    functions = {row[0]: row for row in data["functions"]}
    assert functions["fib"][2] == calls_of_fib(12)
    assert (functions["numbers"][2], functions["numbers"][3]) == (40, 40 * 50)
    name = functions[NAME.replace("\u2028", "\\u2028")]
    assert name[2] == 40 and FILE.split("\u2028")[0] in name[1]
    edges = {(data["functions"][edge[0]][0], data["functions"][edge[1]][0]): edge[2] for edge in data["edges"]}
    assert edges["fib", "fib"] == calls_of_fib(12) - 1 and edges["work", name[0]] == 40


def check_chart(chart):
    """Boxes of a row do not overlap, and each lies in one of the row above that has boxes of the same thread."""
    boxes = list(zip(chart["row"], chart["begin"], chart["end"], strict=True))
    for (row, _, end), (next_row, begin, next_end) in zip(boxes, boxes[1:]):
        assert begin <= next_end and (row < next_row or row == next_row and end <= begin)
    by_row = {}
    for row, begin, end in boxes:
        by_row.setdefault(row, []).append((begin, end))
    tops = [row for row in by_row if row == 0 or chart["rows"][row - 1] is not None]
    for row in by_row.keys() - set(tops):
        for begin, end in by_row[row]:
            assert any(low <= begin and end <= high for low, high in by_row[row - 1])
    return boxes


def test_charts_are_nested(page):
    _, data = data_of(page)
    assert check_chart(data["flame"]) and check_chart(data["timeline"])
    assert [row for row in data["timeline"]["rows"] if row is not None and "worker <" in row]
    assert "here </script>" in [text for _, _, text in data["timeline"]["notes"]]


def test_charts_of_all_kinds_of_runs_are_nested(tmp_path):
    """Threads, forks, generators, coroutines, exceptions, gaps, calls that never ended."""
    from kymo.profile import report

    traces = sorted((ROOT / "tests" / "golden").glob("v*/*.kymo"))
    assert traces
    for number, trace in enumerate(traces):
        made = tmp_path / f"{number}.html"
        assert report.main(["report", f"output={made}", "--", str(trace)]) == 0, trace
        _, data = data_of(made)
        check_chart(data["flame"])
        check_chart(data["timeline"])


def test_sums_are_shown_as_times_and_single_calls_with_their_bounds(page):
    _, data = data_of(page)
    assert all(re.fullmatch(r"[\d.]+ (ns|us|ms|s)", text) for row in data["functions"] for text in row[6:8] if row[2])
    assert any(text.startswith(("<", "~")) for text in data["timeline"]["time"])


def test_sources_have_hits(page):
    text = page.read_text()
    row = re.search(
        r'<td class="hits">(\d+)×</td><td class="time">[^<]*</td><td class="text">        total \+= i \* i</td>', text
    )
    assert row and int(row[1]) == 40 * 50


def test_overhead_is_taken_off(kymo, trace, folder, page):
    kymo("report", "--overhead=1us", "-o", folder / "less.html", trace)
    less, all_of = ({row[0]: row for row in data_of(path)[1]["functions"]} for path in (folder / "less.html", page))
    # Its own calls, and those of numbers() that begin or go on.
    expected = all_of["add"][4] - 1000 * (all_of["add"][2] + all_of["numbers"][2] + all_of["numbers"][3])
    assert less["add"][4] == max(expected, 0)
    assert "for each recorded call and return" in (folder / "less.html").read_text()


def test_a_report_replaces_nothing_unless_told(kymo, trace, page):
    before = page.read_text()
    done = kymo("report", "-o", page, trace, check=False)
    assert (
        done.returncode == 1 and done.stderr == f"kymo: {page} already exists; use -f to replace it\n" and page.read_text() == before
    )
    kymo("report", "-f", "-o", page, trace)


@pytest.mark.parametrize(("words", "status"), [
    (["-o", "x.html", "none.kymo"], 1), (["x.kymo"], 2), (["-o", "x.html", "--from=soon", "x.kymo"], 2),
    (["-o", "no/folder/x.html", "TRACE"], 1), (["-o", "x.html", "--process=no", "x.kymo"], 2),
])  # fmt: skip
def test_what_is_wrong_is_one_line(kymo, trace, tmp_path, words, status):
    done = kymo("report", *[trace if word == "TRACE" else word for word in words], check=False, cwd=tmp_path)
    assert done.returncode == status and done.stderr.count("\n") == 1 and done.stderr.startswith("kymo")
    assert not list(tmp_path.iterdir())


def test_no_part_of_a_run_is_a_page_too(kymo, trace, tmp_path):
    kymo("report", "--from=1000", "-o", tmp_path / "none.html", trace)
    _, data = data_of(tmp_path / "none.html")
    assert data["functions"] == []


def test_lost_events_are_told(kymo, record, tmp_path):
    lossy = record(
        "def f():\n    pass\nfor i in range(300000):\n    f()\n",
        "--policy=overwrite",
        "--ring-size=64k",
        "--events=full",
    )
    kymo("report", "-o", tmp_path / "lossy.html", lossy)
    lost = int(
        re.search(r"<dt>Lost</dt><dd>([\d ]+) events", (tmp_path / "lossy.html").read_text())[1].replace(" ", "")
    )
    _, data = data_of(tmp_path / "lossy.html")
    assert lost > 0 and any("events lost" in text for _, _, text in data["timeline"]["notes"])


@pytest.fixture(scope="module")
def flame_page(trace, folder):
    from kymo.profile import export

    assert export.main(["export", "format=flamegraph", f"output={folder / 'flame.html'}", "--", str(trace)]) == 0
    return folder / "flame.html"


def test_a_flame_graph_alone(page, flame_page):
    parsed, data = data_of(flame_page)
    assert not [name for _, name, _ in parsed.attributes if name in ("src", "href")]
    check_chart(data["flame"])
    calls = {}
    for function, count in zip(data["flame"]["function"], data["flame"]["calls"], strict=True):
        if function >= 0:
            name = data["functions"][function][0]
            calls[name] = calls.get(name, 0) + count
    assert calls["fib"] == calls_of_fib(12) and calls["add"] == 40


@pytest.fixture(scope="module")
def browser(folder):
    made = Browser(folder / "profile")
    yield made
    made.close()


@pytest.fixture
def opened(browser, page):
    browser.open(page)
    yield browser
    assert browser.errors == [] and [url for url in browser.requests if not url.startswith("file:")] == []


def first_names(browser):
    return browser.js(
        "[...document.querySelectorAll('#functions tbody tr')].map(row => row.querySelector('button').textContent)"
    )


def test_the_table_is_sorted_and_searched(opened, page):
    _, data = data_of(page)
    is_other = 10
    everything = sorted(data["functions"], key=lambda row: -row[2])
    by_calls = [row for row in everything if not row[is_other]]
    assert 3 < len(by_calls) < len(everything)
    opened.js("document.querySelector('#functions th button[data-key=\"2\"]').click()")
    assert first_names(opened)[:5] == [row[0] for row in by_calls[:5]]
    assert opened.js("document.querySelector('#functions th:nth-child(2)').getAttribute('aria-sort')") == "descending"
    opened.js("document.getElementById('others').click()")
    assert first_names(opened)[:5] == [row[0] for row in everything[:5]]
    opened.js("document.querySelector('#functions th button[data-key=\"2\"]').click()")
    assert opened.js("document.querySelector('#functions th:nth-child(2)').getAttribute('aria-sort')") == "ascending"
    opened.js(
        "search = document.getElementById('search'); search.value = 'FIB'; search.dispatchEvent(new Event('input'))"
    )
    assert first_names(opened) == [row[0] for row in data["functions"] if "fib" in (row[0] + row[1]).lower()]


def test_a_function_shows_who_called_it_and_what_it_called(opened):
    opened.js("[...document.querySelectorAll('#functions tbody button')].find(b => b.textContent === 'add').click()")
    shown = opened.js("document.getElementById('selected').innerText")
    assert shown.startswith("add\n")
    callers, _, callees = shown.partition("Called by")[2].partition("It called")
    assert "</script>" in callees + callers and "alert(1)" in callers and "numbers" in callees


def test_tables_of_callers_are_sorted(opened):
    """By numbers, where a cell shows a time in some unit."""
    opened.js("[...document.querySelectorAll('#functions tbody button')].find(b => b.textContent === '<module>').click()")
    column = ("[...[...document.querySelectorAll('#selected table')].at(-1).tBodies[0].rows]"
              ".map(row => Number(row.cells[2].dataset.v))")
    click = "[...document.querySelectorAll('#selected table')].at(-1).querySelectorAll('th button')[2].click()"
    opened.js(click)
    falling = opened.js(column)
    assert len(falling) > 2 and falling == sorted(falling, reverse=True)
    opened.js(click)
    assert opened.js(column) == sorted(falling)
    assert opened.js("[...document.querySelectorAll('#selected th')].at(-1).getAttribute('aria-sort')") == "ascending"


def test_the_timeline_comes_first_and_has_a_scale(opened):
    assert opened.js("document.querySelector('section h2').textContent") == "Timeline"
    ticks = "[...document.querySelectorAll('#timeline .ticks span')].map(each => each.textContent)"
    whole = opened.js(ticks)
    opened.js("timeline.zoom(0.01)")
    near = opened.js(ticks)
    assert 2 <= len(whole) <= 9 and 2 <= len(near) <= 9 and whole != near
    assert all(re.fullmatch(r"[\d.]+ (ns|us|ms|s)", tick) for tick in whole + near)
    assert len(set(near)) == len(near), "ticks that say the same"


def test_names_are_text(opened):
    assert opened.js("document.scripts.length") == 2 and opened.js("document.images.length") == 0
    opened.js(
        "search = document.getElementById('search'); search.value = 'alert(1)'; "
        "search.dispatchEvent(new Event('input'))"
    )
    assert len(first_names(opened)) == 1 and first_names(opened)[0].startswith("</script><script>alert(1)")


def test_charts_are_drawn_and_go_by_keys(opened):
    for chart in ("flame", "timeline"):
        opened.js(f"document.querySelector('#{chart} .boxes').focus()")
        assert opened.js(f"document.querySelectorAll('#{chart} .box').length") > 3
        opened.press("ArrowDown")
        first = opened.js(f"document.querySelector('#{chart} .told').textContent")
        opened.press("ArrowDown")
        opened.press("ArrowDown")
        assert first and opened.js(f"document.querySelector('#{chart} .told').textContent") not in ("", first)
        opened.press("Enter")
        assert opened.js(f"{chart}.to - {chart}.from < {chart}.high - {chart}.low")
        opened.press("Escape")
        assert opened.js(f"{chart}.to - {chart}.from === {chart}.high - {chart}.low")


def test_a_flame_graph_alone_is_drawn(browser, flame_page):
    browser.open(flame_page, 360)
    assert browser.js("document.querySelectorAll('#flame .box').length") > 3
    index = browser.js("flame.chart.function.findIndex(i => i >= 0 && functions[i][0] === 'fib')")
    browser.js(f"flame.choose({index})")
    assert browser.js("document.querySelector('.told').textContent").startswith("fib, ")
    assert browser.js("document.documentElement.scrollWidth") == 360 and browser.errors == []


def test_a_box_zooms_and_selects(opened):
    opened.js("document.querySelector('#flame .box:not(.together)').scrollIntoView()")
    index = opened.js("flame.chart.function.findIndex(i => i >= 0 && functions[i][0] === 'fib')")
    opened.js(f"flame.choose({index})")
    assert opened.js("document.getElementById('selected').innerText").startswith("fib\n")
    assert opened.js("[flame.from, flame.to]") == opened.js(f"[flame.chart.begin[{index}], flame.chart.end[{index}]]")


@pytest.mark.parametrize("is_dark", [False, True])
def test_a_phone_has_no_sideways_scrolling(browser, page, is_dark):
    browser.open(page, 360, 740, is_dark)
    browser.js("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    browser.js("document.querySelector('#functions tbody button').click()")
    assert browser.js("[document.documentElement.scrollWidth, innerWidth]") == [360, 360]
    back, text = browser.js("(style => [style.backgroundColor, style.color])(getComputedStyle(document.body))")
    assert (sum(map(int, re.findall(r"\d+", back))) < sum(map(int, re.findall(r"\d+", text)))) == is_dark
    assert browser.errors == []


def test_everything_is_reached_by_keys(opened):
    seen = set()
    opened.js("document.body.focus()")
    for _ in range(40):
        opened.press("Tab")
        seen.add(opened.js("(e => e.tagName + (e.id || e.className))(document.activeElement)"))
    assert {"INPUTsearch", "BUTTON"} <= seen
    assert opened.js("[...document.querySelectorAll('.boxes')].every(each => each.tabIndex === 0)")


MILLION = """
import threading

def leaf(x):
    return x + 1

def some():
    total = 0
    for _ in range(100):
        total = leaf(total)
    return total

def work():
    for _ in range(2500):
        some()

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
work()
for thread in threads:
    thread.join()
"""


def test_a_million_calls(browser, record, kymo, tmp_path):
    kymo("report", "-o", tmp_path / "large.html", record(MILLION, "--events=calls"))
    _, data = data_of(tmp_path / "large.html")
    check_chart(data["timeline"])
    assert sum(data["timeline"]["calls"]) > 1_000_000
    assert {row[0]: row[2] for row in data["functions"]}["leaf"] == 1_000_000
    assert (tmp_path / "large.html").stat().st_size < 3_000_000
    browser.open(tmp_path / "large.html")
    assert browser.js("document.querySelectorAll('*').length") < 10_000
    # What was too narrow to be told apart is, from near by.
    told = "Number(/^[0-9]+/.exec(document.querySelector('#timeline .together').title)[0])"
    together = browser.js(told)
    browser.js("document.querySelector('#timeline .together').click()")
    apart = browser.js("document.querySelectorAll('#timeline .box:not(.together)').length")
    assert together > 1 and apart >= together
    assert browser.errors == []


TASKS = """
import asyncio

async def turns(count):
    for _ in range(count):
        await asyncio.sleep(0)

async def main():
    await asyncio.gather(*[asyncio.create_task(turns(20 * n), name=name) for n, name in enumerate(("a <b>", "c", "d"))])

asyncio.run(main())
"""


def test_tasks_have_lanes_below_their_thread(browser, record, kymo, tmp_path):
    kymo("report", "-o", tmp_path / "tasks.html", record(TASKS))
    _, data = data_of(tmp_path / "tasks.html")
    chart = data["timeline"]
    check_chart(chart)
    titles = {title: row for row, title in enumerate(chart["rows"]) if title is not None}
    assert list(titles)[0].startswith("MainThread, ")
    lanes = [f"{name}, a task of MainThread" for name in ("a <b>", "c", "d")]
    assert [title for title in titles if title in lanes] == lanes
    boxes = list(zip(chart["row"], chart["calls"], chart["flags"], chart["function"], strict=True))
    for count, title in zip((1, 21, 41), lanes, strict=True):
        of = [box for box in boxes if box[0] == titles[title] + 1]
        assert sum(calls for _, calls, _, _ in of) == count and all(flags & 8 for _, _, flags, _ in of)
        assert {data["functions"][function][0] for _, _, _, function in of} == {"turns"}
    browser.open(tmp_path / "tasks.html")
    browser.js("document.querySelector('#timeline .boxes').scrollTop = 1e6")
    browser.js("timeline.draw()")
    shown = browser.js("[...document.querySelectorAll('#timeline .row-title')].map(title => title.textContent)")
    assert [title for title in shown if title in lanes] == lanes
    # A task's boxes differ from those of calls in their shape, not by a colour.
    lone = next(i for i, box in enumerate(boxes) if box[0] == titles[lanes[0]] + 1)
    browser.js(f"timeline.choose({lone})")
    corner = "getComputedStyle(document.querySelector('#timeline .box{}')).borderTopLeftRadius"
    assert browser.js(corner.format(".task")) == "9px"
    assert browser.js("document.querySelector('#timeline .told').textContent").startswith("the task ran: turns, ")
    assert browser.js(f"timeline.label({lone})").endswith("turns") and browser.errors == []
