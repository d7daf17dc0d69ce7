# SPDX-License-Identifier: Apache-2.0
"""What a recording says of objects of every kind is what Python says of the same objects: value_oracle.py."""
import json
import pickle
import subprocess
import sys
from pathlib import Path

import kymo._kymo
import pytest
import value_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import value_oracle
from conftest import TIMEOUT, environment

RECORDER = """
import json, pickle, sys
sys.path.insert(0, {tests!r})
from value_oracle import *

def take(value):
    pass

{make}
told = []
for value in values:
    take(value)
    told.append(Oracle({limits}).tell(value))
    take(value)  # some objects keep what they were asked for
with open(sys.argv[1], "w") as file:
    json.dump(told, file)
"""
LOAD = "with open(sys.argv[2], 'rb') as file:\n    values = pickle.load(file)"
LIMITS = {"depth": 2, "items": 20, "text": 200}


def same(recorded, expected, path="value"):
    """Where they differ first, in words; what @expected has no text for is not compared with any."""
    if isinstance(expected, dict) and isinstance(recorded, dict):
        for name in sorted(recorded.keys() | expected.keys()):
            if name == "text" and name not in expected:
                continue
            if name not in recorded or name not in expected:
                return f"{path}: {name} is in one alone: {recorded.get('text')}, {expected.get('text', expected)}"
            if difference := same(recorded[name], expected[name], f"{path}.{name}"):
                return difference
        return ""
    if isinstance(expected, list) and isinstance(recorded, list) and len(expected) == len(recorded):
        return next(filter(None, (same(*both, f"{path}[{i}]") for i, both in enumerate(zip(recorded, expected)))), "")
    return "" if recorded == expected else f"{path}: {recorded!r} was recorded, {expected!r} it is"


@pytest.fixture
def compare(record, events, tmp_path):
    """Hold what is recorded of `values`, which @make makes in the program, against what Python says."""
    def run(make, data=None, **limits):
        output, script, pickled = (tmp_path / name for name in ("told.json", "program.py", "pickled"))
        limits = LIMITS | limits
        words = ", ".join(f"{name}={value}" for name, value in limits.items())
        script.write_text(RECORDER.format(tests=str(Path(__file__).parent), make=make, limits=words))
        pickled.write_bytes(data or b"")
        trace = record([script, output, pickled], "--values=args", "--values-for=take", "--events=calls", "--include=program.py",
                       f"--values-limits=bytes=16384,{words.replace(' ', '')}")
        told = json.loads(output.read_text())
        seen = [event["values"]["value"] for event in events(trace, "--kind=PY_START", "--function=take")]
        assert len(seen) == 2 * len(told) > 0
        differences = [same(each, told[i // 2], f"values[{i // 2}]") for i, each in enumerate(seen)]
        assert not any(differences), "\n".join(filter(None, differences))
    return run


BUILTINS = """
values = [
    None, True, False, ..., NotImplemented, 0, 1, -1, 2**30 - 1, 2**30, -2**30, 2**60, -2**60, 2**63 - 1, 2**63, -2**63, -2**63 - 1, 2**64,
    3**999, -(10**1000), 2**1600, 0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 5e-324, 1j, complex(-0.0, float("nan")),
    "", "a", "é" * 99, "é" * 101, "x" + "é" * 100, "€" * 67, "\\U0001f600" * 50, "\\U0001f600" * 51, "a" * 200, "a" * 201, "\\udc80a\\ud800",
    "\\0", b"", b"\\0" * 200, bytes(range(256)), bytearray(), bytearray(b"abc"), bytearray(500),
    (), (1,), tuple(range(20)), tuple(range(21)), [], [[], [[], [[], [[]]]]], [1, "a", None], list(range(99)), {}, {1: 2}, {None: ()},
    dict.fromkeys("abc"), {i: str(i) for i in range(30)}, {(1, 2): {3: {4: {5: 6}}}}, set(), {1}, set(range(50)), {"a", (1, 2)},
    frozenset(), frozenset([1, frozenset([2])]), range(0), range(9), range(1, 10, 3), range(2**70, -2**70, -2**65), slice(None),
    slice(1, 2), slice("a", [1], {}), slice(slice(slice(slice(slice(1))))), [range(3), [range(4), [range(5), [range(6)]]]],
]
front = bytearray(b"in front")
del front[:3]
table = {str(i): i for i in range(40)}
for i in range(37):
    del table[str(i)]
numbers = set(range(40))
numbers -= set(range(5, 38))
mixed = {"a": 1}
mixed[2] = 3
parts = Plain(a=1, b=2)
values += [front, table, numbers, mixed, vars(parts), parts]
"""

OBJECTS = """
import array, functools, io, operator, os, re, signal, time, types, weakref

def function(): pass
def generate(): yield
async def run(): pass
async def ask(): yield
class Meta(type):
    __qualname__ = "Other"
class OfMeta(metaclass=Meta):
    class Inner: pass
class Empty(MyError):
    def __init__(self, *args): self.args = ()
class Emptier(Exception):
    def __new__(cls): return Exception.__new__(cls, 1, [2])
    def __init__(self): pass
class Names(Plain, MyStr): pass
run_ = run()
run_.close()
slots = Slotted(zeta=[1])
del slots.alpha
both = Both()
both.own, both.more = Point(1), Pixel(2, [3])
moved = Plain(a=1)
moved.__class__ = type("Moved", (Plain,), {})
deleted = Plain(a=1, b=2, c=3)
del deleted.b
many = Plain(**{f"a{i}": i for i in range(50)})
text = MyStr("abc")
named = types.ModuleType("a name")
turned = collections.deque(range(200))
turned.rotate(70)
own = MyDeque()
own.extend([own, own])
own.more = [1]
values = [
    Plain(), Plain(1, [2]), Plain(a=Plain(b=Plain(c=Plain(d=1)))), deleted, many, moved, slots, both, Slotted(), Point(1, Point(2)), Pixel(1, "é"),
    Row(1, "two"), Row([1], Row(2, {})), time.gmtime(0), sys.float_info, os.stat_result(range(10)), types.SimpleNamespace(a=1, b=[2]),
    *Color, *Permission, Permission.R | Permission.W, Permission(0), *Level, *Word, re.I | re.M, signal.SIGINT, [Color.GREEN] * 3,
    function, lambda: 0, len, print, [].append, "".join, str.join, int.__add__, (1).__add__, dict.fromkeys, Plain.method, Plain().method,
    Meta.mro, Plain.__dict__["__weakref__"], int.numerator, Slotted.alpha, type.__dict__["__name__"], os.getpid, operator.add,
    int, type, object, Plain, Meta, OfMeta, OfMeta.Inner, MyList, list[int], int | str, types.NoneType, re.Pattern,
    sys, os, named, generate(), run_, ask(), function.__code__, (i for i in ()),
    MyInt(5), MyInt(2**80), MyFloat(1.5), MyStr("abc"), MyBytes(b"a"), MyList([1, MyList()]), MyTuple((1,)), MyDict(a=1), MySet([1]),
    MyFrozen([2]), MyBytearray(b"c"), collections.OrderedDict(a=1), collections.defaultdict(list, a=[1]), collections.Counter("aab"),
    collections.deque(), collections.deque([1, [2], "a"]), collections.deque(range(99)), collections.deque([collections.deque, MyDeque, 1], 9),
    MyDeque([MyDeque, collections.deque([1]), None], 4), turned, own,
    ValueError(), ValueError("text"), KeyError([1], {2: 3}), MyError(*range(30)), OSError(2, "no", "file"),
    UnicodeDecodeError("utf-8", b"", 0, 1, "x"),
    StopIteration(1), Empty(1), Emptier(), ExceptionGroup("several", [ValueError(1), KeyError(2)]), SystemExit(3), ImportError("a", name="b"),
]
for value in range(len(values)):
    if isinstance(values[value], MyInt | MyFloat | MyList | MyDict): values[value].hidden = 1
error = MyError("outer")
error.code, error.more = 7, [Point(1)]
values.append(error)
try:
    try:
        try:
            {}[1]
        except KeyError as error:
            raise ValueError("of a key") from error
    except ValueError:
        raise MyError("while handling")
except MyError as error:
    values.append(error)
try:
    try:
        1 / 0
    except ArithmeticError:
        raise ValueError from None
except ValueError as error:
    values.append(error)
chain = None
for i in range(6):
    link = ValueError(i, [i])
    link.__cause__, link.__context__, chain = chain, KeyError(i), link
values += [chain, [chain]]
for error in values:
    if isinstance(error, BaseException): error.__traceback__ = None
"""

TEXTS = """
import zoneinfo
from datetime import *
from decimal import Decimal, getcontext
from fractions import Fraction
from pathlib import *
from uuid import UUID

class Zone(tzinfo):
    def utcoffset(self, when): raise RuntimeError
class Money(Decimal): pass
class Moment(datetime): pass
class Day(date): pass
class Folder(PurePosixPath): pass
offsets = timedelta(hours=5, minutes=30), -timedelta(hours=5, minutes=30), timedelta(seconds=1), -timedelta(microseconds=1), timedelta(0)
zones = [timezone.utc, timezone(timedelta(hours=1), "named"), *map(timezone, offsets)]
getcontext().prec = 60
values = [
    date(1, 1, 1), date.max, Day(2024, 2, 29), time(0), time(23, 59, 59, 999999), time(1, 2, 3, 40), datetime.min, datetime.max,
    datetime(2024, 1, 2, 3, 4, 5), datetime(2024, 1, 2, fold=1), Moment(1999, 12, 31, 23, 59, 59, 1), *zones,
    datetime(2024, 1, 2, tzinfo=Zone()), time(1, tzinfo=Zone()), *(datetime(2024, 1, 2, tzinfo=zone) for zone in zones),
    *(time(1, 2, tzinfo=zone) for zone in zones), *offsets, timedelta.min, timedelta.max, timedelta(1), timedelta(-1), timedelta(2, 3, 4),
    *map(Decimal, ("0", "-0", "0E-7", "0E+7", "1", "-1.50", "1E+28", "1E-28", "123456789012345678901234567890", "0.000001", "0.0000001", "1.1E-6",
                   "NaN", "-NaN123", "sNaN", "sNaN7", "Infinity", "-Infinity", "1" * 150, "1" * 250, "9E+999999", "-1234567890123456789E-5")),
    Decimal(1) / 3, Decimal(2) ** 100, Decimal(10) ** 19, Decimal(10) ** -19, Money("1.10"), Fraction(0), Fraction(-1, 3), Fraction(7),
    Fraction(2**59, 3), Fraction(-(2**59) - 1, 7), UUID(int=0), UUID(int=2**128 - 1), UUID("12345678-9abc-def0-1234-56789abcdef0"),
]
names = ["", ".", "/", "//", "///", "a", "a/b", "a//b/", "./a/./b/.", "..", "../a", "/a/../b", "//a/b", "///a", ".a", "a.", "é€/\\udc80", "a" * 300,
         "/".join("abcdefghij" * 9)]
values += [kind(name) for kind in (PurePosixPath, Path, Folder) for name in names]
values += [PurePosixPath("a", "b"), PurePosixPath("/a", "/b", "c"), PurePosixPath("a") / "b" / ".." / "c", Path("a").parent, Path("/a/b").parent,
           Path("a.txt").with_suffix(".py"), PurePosixPath(*"abcdef"), PurePosixPath("a", "/"), PurePosixPath("a", "//b"), PurePosixPath("", "b")]
"""


@pytest.mark.parametrize("limits", [
    {}, {"depth": 1, "items": 2, "text": 5}, {"depth": 2, "items": 1, "text": 1}, {"depth": 7, "items": 1000, "text": 4000},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("make", [BUILTINS, OBJECTS, TEXTS], ids=["builtins", "objects", "texts"])
def test_what_is_recorded_is_what_python_says(compare, make, limits):
    compare(make, **limits)


ARRAYS = r"""
import array, mmap
import numpy as np

class Table(np.ndarray): pass
def filled(dtype, *shape):
    return np.arange(-2, np.prod(shape) - 2).reshape(shape).astype(dtype)
with open("/dev/zero", "r+b") as file:
    mapped = mmap.mmap(-1, 64)
values = [
    *(filled(letter, 2, 3) for letter in "?bBhHiIlLqQefdFD"), *(filled(letter, 7) for letter in ("i8", "f2", "S3", "U4")),
    filled("f8", 4, 5, 6), filled("f8", 30), filled("i4", 30)[::-3], filled("i4", 5, 6)[1:4, ::2], filled("i4", 5, 6).T, filled("f8", 3, 3).diagonal(),
    np.array(5), np.array([]), np.zeros((3, 0, 2)), np.zeros((1,) * 9), np.broadcast_to(np.int8(3), (4, 5)), np.array(["a", "é€\U0001f600", ""]),
    np.array([b"a\0b", b"", b"abc"]), np.array([None, [1], "a", Point(1)], object), np.array([np.nan, np.inf, -0.0]), np.array([2**64 - 1, 0], "u8"),
    np.array(["2024-01-02", "1969-12-31"], "M8[D]"), np.array([1, -5], "m8[s]"), filled("i2", 4).view(Table), filled("i2", 4).view("u1"),
    np.frombuffer(b"abcdef", "u1"), np.frombuffer(bytearray(b"abcdefgh"), "i4"), np.frombuffer(b"xabcdefgh", "i4", offset=1),
    np.ascontiguousarray(filled("i4", 2, 2)), [np.array([1]), {"a": np.array([2.5])}],
]
values += [filled("i4", 2)] * 2
# What may fault, or is of no plain type, is told without items.
values += [
    np.array([1, 2], ">i4"), np.array([1, 2], ">M8[s]"), np.frombuffer(mapped, "i4"), np.zeros(2, [("a", "i4"), ("b", "f8")]), np.zeros(2, "V3"),
    np.frombuffer(array.array("i", [1, 2]), "i4"),
]
values += [
    np.float64(1.5), np.float32(2.5), np.float16(0.1), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True), np.complex64(1j), np.complex128(2j),
    np.str_("abc"), np.bytes_(b"abc"), np.longlong(5), [np.int32(1), np.float16("nan")],
]
"""


@pytest.mark.parametrize("limits", [{}, {"depth": 1, "items": 3, "text": 8}], ids=str)
def test_arrays(compare, limits):
    pytest.importorskip("numpy")
    compare(ARRAYS, **limits)


# As PyArray_SimpleNewFromData() makes them: of memory that whoever made them takes away again, here as soon as they are made.
UNOWNED = """
import ctypes
import numpy as np
try:
    from numpy._core import _multiarray_umath
except ImportError:
    from numpy.core import _multiarray_umath
get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
PYARRAY_NEW, CARRAY = 93, 0x501
functions = ctypes.cast(get(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.POINTER(ctypes.c_ssize_t), ctypes.c_int, ctypes.c_void_p,
                        ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(functions[PYARRAY_NEW])
libc = ctypes.CDLL(None)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
def gone(dtype):
    memory = libc.mmap(None, 4096, 3, 0x22, -1, 0)
    array = new(np.ndarray, 1, (ctypes.c_ssize_t * 1)(4), np.dtype(dtype).num, None, memory, 0, CARRAY, None)
    assert array.base is None and not array.flags.owndata
    libc.munmap(memory, 4096)
    return array
values = [gone("i8"), gone("f8")[1:], [gone("O")], gone("i4").reshape(2, 2)[1]]
"""


def test_arrays_whose_memory_is_gone(build, importing):
    pytest.importorskip("numpy")
    program = UNOWNED + """
from kymo import _kymo
for value in values:
    owned = np.empty_like(value) if type(value) is np.ndarray else [np.empty_like(value[0])]
    assert 0 < len(_kymo.encode_value(value)) < len(_kymo.encode_value(owned))
    assert _kymo.fingerprint_value(value) == _kymo.fingerprint_value(value)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT, env=environment(importing))
    assert done.returncode == 0, done.stderr or done.returncode


FRAMES = """
import numpy as np
import pandas as pd
class Own(pd.DataFrame):
    pass
mixed = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [3, 4], "kind": pd.Categorical(["u", "v"]), "f": [1.5, 2.5], "n": pd.array([1, None], "Int64"),
                      "day": pd.to_datetime(["2020-01-01", "2021-05-06"]), "password": [7, 8], "o": np.array([(1,), "z"], object), "d": [5, 6]})
known = mixed.copy()
known["a"]  # from now on it knows where its columns are
grown = pd.DataFrame({"x": [1, 2]})
for i in range(60):
    grown[f"more {i}"] = [i, -i]
grown["x"]
objects = pd.Index(["a", "password", "b"], dtype=object)
values = [
    mixed, known, grown, pd.DataFrame(), pd.DataFrame(index=[1, 2]), pd.DataFrame(np.arange(60.0).reshape(30, 2)), known[["c", "a"]], known.iloc[::-1],
    pd.DataFrame(np.arange(6).reshape(3, 2), columns=[7, 1]), pd.DataFrame(np.arange(4).reshape(2, 2), columns=pd.Index([7, "q"], dtype=object)),
    pd.DataFrame({"v": [1, 2, 3]}, index=objects), Own({0: [1], 1: ["a"]}), known.set_index("password"), known.T, [known], {"df": known},
    pd.Series([1.5, 2]), pd.Series([1, 2], name="password"), pd.Series({"password": 1, "b": 2}), pd.Series([1, 2, 3], index=objects),
    pd.Series([1, 2], index=pd.Index(["a", "b"], dtype=object), name="n"), pd.Series(["x", "y"], dtype=object), pd.Series(["x"], dtype="string"),
    pd.Series(pd.timedelta_range("1s", periods=2)), pd.Series([True, None], dtype="boolean"), pd.Series([1, 2], index=pd.date_range("2020", periods=2)),
    pd.Series([1, 2], index=pd.MultiIndex.from_tuples([(1, "a"), (2, "b")])), pd.Series(range(99)), pd.Series(pd.array([1, 2], "Sparse[int]")),
    pd.DataFrame(np.arange(12).reshape(2, 6)).iloc[:, 1:6:2], pd.DataFrame({b"password": [1], b"b": [2]}),
    pd.DataFrame([[1, 2]], columns=pd.Index([("a", "password"), ("b", "c")], tupleize_cols=False, dtype=object)),
    pd.Index([1, 2]), pd.NaT, pd.Timestamp(0), pd.Timedelta(5),
]
"""


IN_ARROW = """
import io, pickle
import pandas as pd
import pyarrow as pa

def series(array, dtype="str"):
    return pd.Series(pd.arrays.ArrowStringArray(array, dtype=pd.StringDtype("pyarrow")))

def frame(labels):
    return pd.DataFrame([range(len(labels))] * 2, columns=pd.Index(labels, dtype="str"))

chunks = pa.chunked_array([["a", None], [], ["", "bé" * 99, "c" * 300], ["€" * 201]], pa.large_string())
def through_ipc(options):
    sink = pa.BufferOutputStream()
    table = pa.table({"x": chunks})
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()["x"]
values = [
    frame(["v", "password", "w"]), frame(["é€\U0001f600", "", "x" * 400, "\\n"]), frame([]), frame(list(map(str, range(99)))), frame(["v", None, "w"]),
    frame(["v", "w", "x", "y"]).iloc[:, 1:3], frame(["v", "w"]).rename(columns=str.upper), frame(["v", "w"]).T, pd.read_csv(io.StringIO("a,b\\n1,x\\n2,\\n")),
    pd.Series([1, 2], index=["x", "y"]), pd.Series([1, 2], index=["x", "api_password"]), pd.Series(["x", None, "z"]), pd.Series(["x", None], dtype="string"),
    pd.Series(["x"] * 50, index=list(map(str, range(50)))), pd.Series(["u", "v"], index=["password", "w"]), pd.Series(["u"], name="password"), pd.Series([], dtype="str"),
    series(chunks), series(chunks.slice(1, 3)), series(chunks.slice(4)), series(pa.chunked_array([], pa.large_string())), series(through_ipc(None)),
    series(through_ipc(pa.ipc.IpcWriteOptions(compression="zstd"))),
    pd.Series(["x", "y"] * 3).groupby(list("aabbcc")).first(), pd.concat([pd.Series(["x"], index=[f"{i}"]) for i in range(30)]),
    pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}).set_index("a"), pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}).groupby("a").sum(),
]
mutable = pd.Series(["x", "y"])
mutable.iloc[0] = "changed"
values.append(mutable)
"""


@pytest.mark.parametrize("limits", [{}, {"depth": 3, "items": 4, "text": 30}, {"depth": 1}, {"items": 200}], ids=str)
def test_text_that_pandas_keeps_in_arrow(compare, limits):
    arrow, pandas = pytest.importorskip("pyarrow.lib"), pytest.importorskip("pandas")
    if arrow.cpp_build_info.so_version > "2600" or pandas.__version__ < "3":
        pytest.skip("layouts of later versions are not known")
    compare(IN_ARROW, **limits)


@pytest.mark.parametrize("limits", [{}, {"depth": 3, "items": 4}, {"depth": 1}, {"items": 200}], ids=str)
def test_what_pandas_has(compare, limits):
    pytest.importorskip("pandas")
    compare(FRAMES, **limits)


TEXT = st.text(st.characters(exclude_categories=["Cn"]), max_size=120)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**2000), 2**2000), st.floats(), st.complex_numbers(), TEXT, st.binary(max_size=300),
    st.binary().map(bytearray), st.dates(), st.times(timezones=st.none() | st.timezones()), st.datetimes(timezones=st.none() | st.timezones()),
    st.timedeltas(), st.decimals(), st.fractions(), st.uuids(), st.sampled_from([*value_oracle.Color, *value_oracle.Permission, *value_oracle.Word]),
    st.sampled_from([int, value_oracle.Plain, len, str.join]), st.builds(value_oracle.MyInt, st.integers()),
    st.builds(value_oracle.MyStr, TEXT), st.builds(range, st.integers(), st.integers()), st.builds(slice, st.integers(), st.none(), TEXT),
)
KEYS = st.one_of(st.integers(), TEXT, st.binary(), st.none(), st.tuples(st.integers(), TEXT))
SEQUENCES = (list, tuple, value_oracle.MyList, value_oracle.MyTuple, value_oracle.Plain, ValueError, value_oracle.MyError)


@st.composite
def objects(draw):
    """Objects that have each other: those that came before and, of some, those that came after."""
    pool = draw(st.lists(LEAVES, min_size=1, max_size=9))
    open_ended = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.integers(0, 12))
        parts = draw(st.lists(st.sampled_from(pool), max_size=30 if kind < 3 else 4))
        if kind < len(SEQUENCES):
            made = SEQUENCES[kind](parts) if kind < 4 else SEQUENCES[kind](*parts)
        elif kind < 10:
            keys = draw(st.lists(KEYS, min_size=len(parts), max_size=len(parts), unique=True))
            made = (dict, value_oracle.MyDict, dict)[kind - 7](zip(keys, parts))
        elif kind == 10:
            made = draw(st.sampled_from([set, frozenset, value_oracle.MySet]))(draw(st.lists(KEYS, max_size=40)))
        else:
            made = (value_oracle.Point if kind == 11 else value_oracle.Slotted)(*(parts * 2 + [1, 2])[:2])
        pool.append(made)
        if type(made) in (list, dict, value_oracle.Plain, value_oracle.Point):
            open_ended.append(made)
    for each in draw(st.lists(st.sampled_from(open_ended), max_size=3)) if open_ended else ():
        late = draw(st.sampled_from(pool))
        if type(each) is list:
            each.insert(draw(st.integers(0, len(each))), late)
        elif type(each) is dict:
            each["late"] = late
        else:
            each.late = late
    return pool


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(objects(), st.sampled_from([{}, {"depth": 1}, {"depth": 6, "items": 5, "text": 9}]))
def test_generated_objects(compare, pool, limits):
    compare(LOAD, pickle.dumps(pool), **limits)


def decode(told):
    values = value_model.Values(told, lambda id: "T")
    values.at = 0
    value = values.value()
    assert values.at == len(told)
    return value


@settings(max_examples=100, deadline=None)
@given(objects(), st.integers(0, 700))
def test_with_little_room_less_is_told_and_never_more_than_there_is_room_for(pool, room):
    """Of numbers and texts the beginning, of others the first items; what is told is as it would be with more room."""
    for value in pool:
        whole = kymo._kymo.encode_value(value)
        told = kymo._kymo.encode_value(value, room=room)
        assert len(told) <= room + 1
        assert told == whole or '"cut": true' in (said := json.dumps(decode(told), ensure_ascii=False)) or "…" in said
