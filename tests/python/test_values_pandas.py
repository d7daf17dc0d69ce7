# SPDX-License-Identifier: Apache-2.0
"""Columns and values of pandas by their labels, in the debugger: what is not known is said in words."""

import re

import pytest

pandas = pytest.importorskip("pandas")

PROGRAM = """
import sys
import pandas as pd

def show(value):
    return None

{make}
show(value)
"""

KNOWN = """
value = [
    pd.DataFrame({{"v": [1, 2], "name": ["a", "bé"], "password": [3, 4], "day": pd.to_datetime(["2020-01-01 00:00:00", "2021-05-06 07:08:09.5"], format="ISO8601")}}),
    pd.Series([5, 6], index=["x", "y"]), pd.Series(["u", "v"], index=[50, 60], name="n"), pd.Series([5, 6, 7], index=range(10, 4, -2)),
    pd.DataFrame([[1, 2]], columns=[7, 8]), pd.Series([1, 2], index=["password", "z"]), pd.DataFrame({{"a": [1]}}, index=["long name"]),
]
"""

ANSWERS = {
    'value[0]["v"]': "<ndarray int64 (2,): [1, 2]>",
    'value[0]["v"][-1]': "2",
    'value[0]["name"][1]': "'bé'",
    'value[0]["password"]': "<redacted>",
    'value[0]["day"]': "<ndarray datetime64[us] (2,): [2020-01-01 00:00:00, 2021-05-06 07:08:09.5]>",
    'value[0]["day"][1]': "2021-05-06 07:08:09.5",
    'value[0]["w"]': 'value[0] has no ["w"]',
    'value[0].index': "range(0, 2)",
    'value[1]["y"]': "6",
    'value[1]["index"]': 'value[1] has no ["index"]',
    'value[2][60]': "'v'",
    'value[2][0]': "value[2] has no [0]",
    'value[2].name': "'n'",
    'value[3][6]': "7",
    'value[3][7]': "value[3] has no [7]",
    'value[3][4]': "value[3] has no [4]",
    'value[4][8]': "<ndarray int64 (1,): [2]>",
    'value[4][0]': "value[4] has no [0]",
    'value[5]["z"]': 'value[5] has no ["z"] that was recorded: it is cut, 0 of 2 items were',
    'value[6].index[0]': "'long name'",
}


@pytest.fixture
def ask(kymo, tmp_path):
    """ask("value = 1", ["value"]): what the console answers where show(value) is entered."""

    def run(make, paths):
        program, trace = tmp_path / "program.py", tmp_path / "asked.kymo"
        program.write_text(PROGRAM.format(make=make.replace("{{", "{").replace("}}", "}")))
        kymo("record", "-q", "-f", "-o", trace, "--values=args", "--values-for=show", "--values-limits=depth=4", "--include=program.py", program)
        commands = "".join(f"print {path}\n" for path in paths)
        told = kymo("replay", trace, input=f"goto start\nbreak program.py:6\ncontinue\n{commands}", check=False).stdout
        return [line.removesuffix("  (at the call)") for line in told.splitlines()[-len(paths) :]]

    return run


def test_labels_lead_to_columns_and_values(ask):
    assert dict(zip(ANSWERS, ask(KNOWN, ANSWERS))) == ANSWERS


def test_what_labels_are_not_read_is_said_and_why(ask):
    make = """value = [pd.DataFrame({"a": [1], "b": [2], "c": [3]}).set_index(["a", "b"])]
value.append(value[0].T)
value.append(value[0]["c"])"""
    why = "kept as a MultiIndex, which Kymo does not read"
    assert ask(make, ["value[0]", 'value[0]["c"]', 'value[0]["d"]', 'value[1]["c"]', "value[2][0]"]) == [
        ANY(r"<DataFrame at 0x\w+: index=<MultiIndex, " + why + r">, c=<ndarray int64 \(1,\): \[…\+1\]>>"),
        f"<ndarray int64 (1,): […+1]>  (left out: the labels of its rows were not read, {why})",
        'value[0] has no ["d"]',
        f'value[1] has no ["c"] that was recorded: the labels of its columns were not read, {why}',
        f"value[2] has no [0] that was recorded: the labels of its rows were not read, {why}",
    ]


class ANY:
    def __init__(self, pattern):
        self.pattern = pattern

    def __eq__(self, other):
        return bool(re.fullmatch(self.pattern, other))

    def __repr__(self):
        return self.pattern


LATER = """
import pyarrow.lib
pyarrow.lib.cpp_build_info = pyarrow.lib.cpp_build_info._replace(version="99.1.0", so_version="9901")
value = pd.DataFrame({"v": [1], "w": ["x"]})
"""

MAPPED = """
import pyarrow, pyarrow.feather
pyarrow.feather.write_feather(pyarrow.table({"x": pyarrow.array(["v", "w"], pyarrow.large_string())}), "x.feather", compression="uncompressed")
labels = pyarrow.feather.read_table("x.feather", memory_map=True)["x"]
value = pd.DataFrame([[1, 2]], columns=pd.Index(pd.arrays.ArrowStringArray(labels, dtype=pd.StringDtype("pyarrow", na_value=float("nan")))))
"""


@pytest.mark.parametrize("make, why", [
    (LATER, "kept by pyarrow 99.1.0, whose layout in memory Kymo does not know"),
    (MAPPED, "kept by pyarrow in memory that may go away, as that of a mapped file"),
], ids=["of a later version", "in a mapped file"])  # fmt: skip
def test_what_pyarrow_keeps_may_be_unknown(ask, make, why, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    if pandas.__version__ < "3":
        pytest.skip("labels are objects before pandas 3")
    monkeypatch.chdir(tmp_path)
    frame, column = ask(make, ["value", 'value["v"]'])
    assert f": columns=<Index, {why}>, index=range(0, 1), 0=<ndarray int64 (1,): […+1]>" in frame
    assert column == f'value has no ["v"] that was recorded: the labels of its columns were not read, {why}'
