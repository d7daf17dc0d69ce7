# SPDX-License-Identifier: Apache-2.0
"""A folder of traces of tests that passed, to compare with: beside each trace TRACE.tests.json names those in it."""

import json

_SUFFIX = ".tests.json"


def note(trace, nodeids):
    with open(f"{trace}{_SUFFIX}", "w", encoding="utf-8") as file:
        json.dump({"passed": sorted(nodeids)}, file, indent=1)


def find(folder, nodeid):
    """The newest trace in which this test passed, or None."""
    for file in sorted(folder.glob(f"*{_SUFFIX}"), reverse=True):
        trace = file.with_name(file.name.removesuffix(_SUFFIX))
        try:
            names = json.loads(file.read_text(encoding="utf-8"))["passed"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if nodeid in names and trace.exists():
            return trace
    return None
