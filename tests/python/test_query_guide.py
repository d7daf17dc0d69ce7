# SPDX-License-Identifier: Apache-2.0
"""docs/guide/query.md: its queries run, and answer what is shown.

Columns of times, which end in _us, must be numbers where the guide has one.  `python tests/python/test_query_guide.py`
writes what comes out into the guide.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import BUILD, KYMO, ROOT, environment

import kymo as library

GUIDE = ROOT / "docs" / "guide" / "query.md"
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
QUERY = re.compile(r"^```sql\n(.*?)^```$\n\n((?:\|[^\n]*\n)*)", re.M | re.S)


def cell(value):
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "NULL" if value is None else str(value).replace("<", "\\<")


def table(rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in rows).replace("|\n", f"|\n|{'---|' * len(rows[0])}\n", 1)


def record(folder):
    (folder / "orders.py").write_text(PROGRAM.search(GUIDE.read_text())[1])
    command = re.search(r"`kymo (record .*?)`", GUIDE.read_text())[1].split()
    subprocess.run([KYMO, *command], cwd=folder, env=environment({"PYTHONPATH": BUILD / "python"}), capture_output=True,
                   check=True)  # fmt: skip
    return folder / "orders.kymo"


def ask(duckdb, path):
    """What each query of the guide answers: rows of cells, the first of names; none if it makes something."""
    database = duckdb.connect()
    with library.open(path) as trace:  # noqa: F841 - the queries name it
        for query, _ in QUERY.findall(GUIDE.read_text()):
            found = database.execute(query)
            names = [part[0] for part in found.description]
            yield [] if query.startswith("create") else [names, *([*map(cell, row)] for row in found.fetchall())]


def without_times(rows):
    times = {i for i, name in enumerate(rows[0]) if name.endswith("_us")}
    return [rows[0], *(["TIME" if i in times and re.fullmatch(r"-?\d+", cell) else cell for i, cell in enumerate(row)]
                       for row in rows[1:])]  # fmt: skip


def test_queries_answer_what_the_guide_shows(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    queries = QUERY.findall(GUIDE.read_text())
    assert len(queries) > 9
    for (query, shown), rows in zip(queries, ask(duckdb, record(tmp_path))):
        assert bool(shown) == (not query.startswith("create")) == bool(rows), query
        if shown:
            expected = [line.strip("| ").split(" | ") for line in shown.splitlines()]
            if "order by took_ns desc" in query:  # which calls take longest, but for the one around them, the machine decides
                took = [int(row[rows[0].index("took_us")]) for row in rows[1:]]
                assert len(rows) == len(expected) - 1 and took == sorted(took, reverse=True), query
                rows, expected = rows[:2], expected[:3]
            assert without_times(rows) == without_times(expected[:1] + expected[2:]), query


def test_the_guide_has_all_columns():
    from kymo.arrow import Table

    shown = [name for cell in re.findall(r"^\| (`[^|]+`) \| (?:u?int|text)", GUIDE.read_text(), re.M)
             for name in re.findall(r"`(\w+)`", cell)]  # fmt: skip
    pyarrow = pytest.importorskip("pyarrow")
    with tempfile.TemporaryDirectory() as folder:
        assert pyarrow.table(Table(record(Path(folder)))).column_names == shown


if __name__ == "__main__":
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        answers = ask(duckdb, record(Path(folder)))
        text = QUERY.sub(lambda found: found[0][: found.start(2) - found.start()]
                         + (table(rows) if (rows := next(answers)) else ""), text := GUIDE.read_text())  # fmt: skip
    partial = GUIDE.with_suffix(".partial")
    partial.write_text(text)
    os.replace(partial, GUIDE)
    sys.exit()
