# SPDX-License-Identifier: Apache-2.0
"""No circle of files: what each object file takes from which other, by the linker's own tables."""

import os
import re
import subprocess
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("KYMO_BUILD_DIR", "build/dev")
TARGET = re.compile(r"CMakeFiles/([^/]+)\.dir/")


def objects():
    """(target, source file, object file) of what the product is made of; the extension once."""
    extension = None
    for path in sorted(BUILD.rglob("*.c.o")):
        name = str(path.relative_to(BUILD))
        source = TARGET.sub("", name)[: -len(".o")]
        target = TARGET.search(name)[1]
        if source.startswith("pyext/"):
            extension = extension or target
            if target != extension:
                continue
        if not source.startswith("tests/") and (ROOT / source).exists():
            yield source, path


def symbols(path):
    listing = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return {row[-1] for row in rows if row[-2] in "TDBR"}, {row[-1] for row in rows if row[-2] == "U"}


def uses():
    """{file: {file it takes a symbol from}}"""
    tables = {source: symbols(path) for source, path in objects()}
    where = {symbol: source for source, (defined, _) in tables.items() for symbol in defined}
    return {
        source: {where[symbol] for symbol in wanted if symbol in where} - {source}
        for source, (_, wanted) in tables.items()
    }


def test_no_circle_of_files():
    graph = uses()
    assert len(graph) > 200 and sum(map(len, graph.values())) > 500
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        raise AssertionError(" takes from ".join(reversed(circle.args[1]))) from None
