# SPDX-License-Identifier: Apache-2.0
"""Values as a person writes them: the program's own repr(), and numpy's and datetime's texts, are the oracles."""

import json
import re

import pytest

RECORDS = """
import dataclasses, json, sys

@dataclasses.dataclass
class Point:
    x: int
    y: int = 2

@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    begin: Point
    tags: list

class Mixin:
    pass

class Derived(Mixin, Point):
    pass

class Plain:
    def __init__(self):
        self.x = 1

held = [Point(1), Line(Point(3, 4), ["a"]), Derived(5), {"in": Point(6)}]
try:
    import attr, attrs
    @attr.s(auto_attribs=True)
    class Old:
        x: int
    @attrs.define
    class New:
        age: int  # what is in slots comes in the order of names
        name: str = "n"
    @attrs.frozen(slots=False)
    class Dict:
        new: New
        _private: list = attrs.Factory(list)
    held += [Old(1), New(2), Dict(New(3)), Dict(New(3), [New(4)])]
except ImportError:
    pass
try:
    import pydantic
    class Model(pydantic.BaseModel):
        x: int
        name: str = "n"
    class Below(Model):
        z: float = 1.5
    class Open(pydantic.BaseModel, extra="allow"):
        model: Model
        models: list[Model]
        _seen: int = pydantic.PrivateAttr(default=7)
    class Root(pydantic.RootModel[list[int]]):
        pass
    @pydantic.dataclasses.dataclass(frozen=True)
    class Checked:
        x: int
    class Frozen(Model, frozen=True):
        pass
    held += [Model(x=1), Below(x=2), Open(model=Model(x=1), models=[Model(x=2)]), Open(model=Model(x=1), models=[], more=1, most="m"), Root([1]),
             Checked(1), Frozen(x=1), Model.model_construct(x="no int")]
except ImportError:
    pass

def show(value):
    return None

for value in held:
    show(value)
show(Plain())
json.dump([repr(value) for value in held], sys.stdout)
"""


def told_of(kymo, trace, name):
    lines = kymo("events", "--jsonl", "--kind=PY_START", "--function=show", trace).stdout.splitlines()
    return [json.loads(line)["values"][name] for line in lines]


def test_what_is_its_fields_is_written_as_a_call(kymo, tmp_path):
    (tmp_path / "records.py").write_text(RECORDS)
    done = kymo("record", "-q", "-o", tmp_path / "r.kymo", "--values=args", "--values-limits=depth=4", tmp_path / "records.py")
    *told, plain = told_of(kymo, tmp_path / "r.kymo", "value")
    assert [value["text"] for value in told] == json.loads(done.stdout) and len(told) >= 4
    assert re.fullmatch(r"<Plain at 0x[0-9a-f]+: x=1>", plain["text"])
    assert told[0]["attributes"]["x"]["text"] == "1" and told[0]["id"]


TIMES = """
import datetime, json, random, sys
import numpy

def show(value):
    return None

random.seed(5)
spans = {"Y": 8000, "M": 90000, "W": 400000, "D": 3000000, "h": 70000000, "m": 4 * 10**9, "s": 2 * 10**11, "ms": 2 * 10**14, "us": 2 * 10**17, "ns": 9 * 10**18,
         "15m": 10**8, "7D": 10**5}
oracle = []
for unit, span in spans.items():
    low = -1969 if unit == "Y" else -1969 * 12 if unit == "M" else max(-span, -719162 * span // 3000000)
    ticks = [0, 1, -1, *(random.randrange(low, span) for _ in range(15))]
    dates = numpy.array(ticks, dtype="int64").view(f"datetime64[{unit}]")
    show(dates)
    oracle.append([str(date) for date in dates])
for unit in "h", "m", "s", "ms", "us", "D":
    ticks = [0, 1, -1, *(random.randrange(-10**6, 10**6) for _ in range(15))]
    show(numpy.array(ticks, dtype="int64").view(f"timedelta64[{unit}]"))
    names = {"h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "D": "days"}
    oracle.append([str(datetime.timedelta(**{names[unit]: tick})) for tick in ticks])
show(numpy.array(["NaT", "2026-01-02"], dtype="datetime64[D]"))
oracle.append(["NaT", "2026-01-02"])
for scalar in numpy.datetime64("2026-01-02T03:04:05.5"), numpy.timedelta64(3, "s"):
    show(scalar)
json.dump(oracle, sys.stdout)
"""


def test_times_of_numpy_are_dates(kymo, tmp_path):
    pytest.importorskip("numpy")
    (tmp_path / "times.py").write_text(TIMES)
    done = kymo("record", "-q", "-o", tmp_path / "t.kymo", "--values=args", tmp_path / "times.py")
    *arrays, date, duration = told_of(kymo, tmp_path / "t.kymo", "value")
    oracle = json.loads(done.stdout)
    assert len(arrays) == len(oracle) == 19
    for told, texts in zip(arrays, oracle):
        shown = re.search(r": \[(.*)\]>$", told["text"])[1]
        # numpy has hours without minutes, and a T; a fraction is not as long as its unit.
        expected = [re.sub(r"(\.\d*?)0+$", r"\1", text.replace("T", " ") if text != "NaT" else text).rstrip(".") for text in texts]
        expected = [f"{text}:00:00" if re.search(r"-\d\d \d\d$", text) else f"{text}:00" if re.search(r" \d\d:\d\d$", text) else text
                    for text in expected]
        if any("day" in text for text in expected):
            found = re.findall(r"NaT|-?\d+ days?, [\d:.]+|[\d:.]+", shown)
        else:
            found = shown.split(", ")
        assert found == expected, told["dtype"]
    assert (date["text"], duration["text"]) == ("datetime64('2026-01-02 03:04:05.5')", "timedelta64('0:00:03')")
