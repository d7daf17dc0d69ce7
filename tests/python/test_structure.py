# SPDX-License-Identifier: Apache-2.0
"""What docs/architecture.md says about the code, held against the code."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("KYMO_BUILD_DIR", "build/dev")

TRACE = {"format", "replay/trace"}
DECODED = TRACE | {"replay/values", "replay/decode"}
REPLAY = DECODED | {"replay/index", "replay/moves"}
MAY_INCLUDE = {
    "format": {"format"},
    "recorder": {"format", "recorder"},
    "pyext": {"format", "recorder", "pyext"},
    "reader": {"format", "reader"},
    "replay/trace": TRACE,
    "replay/values": TRACE | {"replay/values"},
    "replay/decode": DECODED,
    "replay/index": DECODED | {"replay/index"},
    "replay/moves": REPLAY,
    "replay/debugger": REPLAY | {"replay/debugger"},
    "replay/coverage": REPLAY | {"replay/coverage"},
    "replay/diff": REPLAY | {"replay/diff"},
    "replay/profile": REPLAY | {"replay/coverage", "replay/profile"},
    "replay/profile/export": REPLAY | {"replay/coverage", "replay/profile", "replay/profile/export"},
    "replay/library": REPLAY | {"replay/debugger", "replay/coverage", "replay/profile", "replay/library"},
    "cli": REPLAY
    | {"recorder", "reader", "replay/debugger", "replay/coverage", "replay/diff", "replay/profile", "replay/profile/export", "cli"},
}


def folder_of(path):
    """The innermost folder that has a rule; None: the path is not one of the project's."""
    return max((folder for folder in MAY_INCLUDE if path.startswith(folder + "/")), key=len, default=None)


def sources(folder):
    """The C files that the rule of a folder holds for."""
    found = sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.[ch]"))
    return [ROOT / path for path in found if folder_of(path) == folder]


@pytest.mark.parametrize("folder", MAY_INCLUDE)
def test_include_directions(folder):
    assert sources(folder)
    wrong = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in sources(folder)
        for target in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)
        if (room := folder_of(target)) and room not in MAY_INCLUDE[folder]
    ]
    assert not wrong


def test_verbs_use_the_library_or_are_named():
    """The rooms behind it that they use; what they share, and headers, are not in the table."""
    text = (ROOT / "docs/decisions/0015-verbs-and-the-library.md").read_text()
    named = {file: set(re.findall(r"`([^`]+)`", rooms)) for file, rooms in re.findall(r"^\| `(\w+\.c)` \| (.*?) \|", text, re.M)}
    found = {path: {target.removeprefix("replay/").rpartition("/")[0]
                    for target in re.findall(r'^#include "(replay/[^"]+)"', path.read_text(), re.M)} - {"library"}
             for path in sorted((ROOT / "cli").glob("*.c"))}
    assert named == {path.name: rooms for path, rooms in found.items() if path.name.startswith("verb_") and rooms}
    others = {path.name for path, rooms in found.items() if rooms} - named.keys()
    assert others <= set(re.findall(r"`(\w+\.c)`", text)), others


def test_python_h_is_included_by_pyext_alone():
    wrong = [
        str(path)
        for folder in MAY_INCLUDE.keys() - {"pyext"}
        for path in sources(folder)
        if "Python.h" in path.read_text()
    ]
    assert not wrong


def test_internals_of_cpython_are_included_in_one_folder():
    users = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "pyext").rglob("*.[ch]")
        if "internal/pycore_" in path.read_text()
    }
    assert users and all(user.startswith("pyext/cpython/") for user in users)


def test_a_name_of_a_c_file_is_used_once():
    names = [path.name for folder in MAY_INCLUDE for path in sources(folder)]
    assert sorted(set(names)) == sorted(names)


def test_memory_orders_are_named_in_one_file():
    users = {
        path.name
        for folder in MAY_INCLUDE
        for path in sources(folder)
        if re.search(r"\bmemory_order_|\b__atomic_|\batomic_(load|store|fetch)", path.read_text())
    }
    assert users == {"atomics.h"}


def test_every_ordering_label_has_its_partner():
    """(P1) in the producer needs (C1) in the consumer, and the other way round."""
    labels = {
        folder: set(re.findall(r"(?<!with )\(([PC]\d)\)", "\n".join(p.read_text() for p in sources(folder))))
        for folder in ("recorder", "reader")
    }
    producer = {label[1:] for label in labels["recorder"] if label[0] == "P"}
    consumer = {label[1:] for label in labels["reader"] if label[0] == "C"}
    assert producer and producer == consumer


def test_the_extension_exports_its_init_function_alone():
    for extension in (BUILD / "python" / "kymo").glob("_kymo*.so"):
        listing = subprocess.run(
            ["nm", "-D", "--defined-only", extension], capture_output=True, text=True, check=True
        ).stdout
        assert {line.split()[-1] for line in listing.splitlines()} == {"PyInit__kymo"}
