# SPDX-License-Identifier: Apache-2.0
"""Objects that notice when they are looked at, and what a program can know of its own state.

usage: hostile_values.py [numpy] [large].  Prints which of their methods were called, reference counts, the collector's state and memory.
"""
import collections
import datetime
import decimal
import enum
import gc
import os
import pathlib
import sys
import types
import weakref

calls = []
SPECIAL = """
    __repr__ __str__ __bytes__ __format__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __len__ __length_hint__ __iter__ __next__
    __reversed__ __contains__ __getitem__ __setitem__ __delitem__ __missing__ __getattr__ __getattribute__ __setattr__ __delattr__ __dir__
    __call__ __int__ __float__ __complex__ __index__ __round__ __trunc__ __add__ __radd__ __mod__ __sizeof__ __reduce__ __reduce_ex__
    __getstate__ __copy__ __deepcopy__ __fspath__ __instancecheck__ __subclasscheck__ __enter__ __exit__ __await__ __aiter__ __anext__
    __buffer__ __array__ __array_interface__ __array_struct__ __iadd__ __or__ __and__ __sub__ keys values items get utcoffset tzname dst
    isoformat as_tuple __rich_repr__ _repr_html_ mro
""".split()
is_armed = False


def spy(owner, name):
    def noticed(self, *args, **named):
        if is_armed:
            calls.append(f"{owner}.{name}")
            return "noticed" if name in ("__repr__", "__str__", "__format__") else 1
        return getattr(super(kinds[owner], self), name)(*args, **named)
    return noticed


def watched(owner, name):
    """A property that tells of its use."""
    def get(self):
        if is_armed:
            calls.append(f"{owner}.{name}")
    return property(get, get, get)


kinds = {}


def hostile(name, *bases, properties=(), **more):
    """A class all of whose methods tell of their use."""
    body = {special: spy(name, special) for special in SPECIAL} | {each: watched(name, each) for each in properties} | more
    kinds[name] = type(name, bases or (object,), body)
    return kinds[name]


Plain = hostile("Plain")
Dict = hostile("Dict", properties=["__dict__"])
Class = hostile("Class", properties=["__class__", "__doc__", "__module__", "__weakref__"])
Slots = hostile("Slots", __slots__=("first", "second"))
slots = Slots.__new__(Slots)
Slots.first.__set__(slots, [1])
Slots.second.__set__(slots, Plain())
Slots.first = watched("Slots", "first")
Slots.second = types.DynamicClassAttribute(watched("Slots", "second").fget)


class Meta(type):
    __getattribute__ = spy("Meta", "__getattribute__")
    __repr__ = spy("Meta", "__repr__")
    __hash__ = spy("Meta", "__hash__")
    __eq__ = spy("Meta", "__eq__")
    __instancecheck__ = spy("Meta", "__instancecheck__")
    __subclasscheck__ = spy("Meta", "__subclasscheck__")
    __call__ = spy("Meta", "__call__")
    __len__ = spy("Meta", "__len__")
    __iter__ = spy("Meta", "__iter__")
    __name__ = watched("Meta", "__name__")
    __dict__ = watched("Meta", "__dict__")
    __mro__ = watched("Meta", "__mro__")
    __module__ = watched("Meta", "__module__")


kinds["Meta"] = Meta
OfMeta = Meta("OfMeta", (), {special: spy("OfMeta", special) for special in SPECIAL})
kinds["OfMeta"] = OfMeta
Derived = {base.__name__: hostile(f"My{base.__name__}", base) for base in (
    int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, ValueError, types.ModuleType, datetime.datetime, datetime.date,
    datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, pathlib.PurePosixPath, collections.OrderedDict, collections.defaultdict)}
Error = hostile("Error", ValueError, properties=["args", "__cause__", "__context__", "__traceback__", "__suppress_context__", "__notes__"])


class Color(enum.Enum):
    RED = 1
    __repr__ = __str__ = spy("Color", "__repr__")


kinds["Color"] = Color
for each in "value", "name", "_value_", "_name_":
    type.__setattr__(Color, each, watched("Color", each))


class Last:
    def __init__(self, text):
        self.text = text

    def __del__(self):
        calls.append(f"end of {self.text}")


def deep(make, count=100_000):
    value = None
    for _ in range(count):
        value = make(value)
    return value


def error_from(cause):
    error = ValueError(1)
    error.__cause__ = error.__context__ = cause
    return error


def object_with(value):
    made = types.SimpleNamespace()
    made.inner = value
    return made


def make_values():
    cycle, table, thing = [1], {}, Plain()
    cycle += [cycle, (cycle, table), thing]
    table["self"] = table["cycle"] = table
    table["list"] = cycle
    object.__setattr__(thing, "thing", thing)
    object.__setattr__(thing, "list", cycle)
    kept = Last("a value")
    lists = {"of": {Derived["str"]("key"): Plain(), Derived["int"](5): 1, (Derived["str"]("in a tuple"),): 2}}
    error = Error(Plain(), 1)
    BaseException.__dict__["__cause__"].__set__(error, Error(2))
    function = types.FunctionType((lambda: 0).__code__, {}, "name")
    function.__qualname__ = "q" * 100_000
    late = types.SimpleNamespace(**{"n" * 100_000: None})
    values = [
        Plain(), Dict(), Class(), slots, OfMeta, Meta, object.__new__(OfMeta), Color.RED, cycle, table, thing, lists, error, function,
        Derived["int"](5), Derived["float"](1.5), Derived["complex"](1j), Derived["str"]("text"), Derived["bytes"](b"ab"),
        Derived["bytearray"](b"ab"), Derived["list"]([1, Plain()]), Derived["tuple"]((1, Plain())), Derived["dict"](a=Plain()),
        Derived["set"]([1, 2]), Derived["frozenset"]([3]), Derived["ValueError"](1), Derived["module"]("a module"),
        Derived["datetime"](2024, 1, 2, tzinfo=Derived["tzinfo"]()), Derived["date"](2024, 1, 2), Derived["time"](1, tzinfo=Derived["tzinfo"]()),
        Derived["timedelta"](1), Derived["Decimal"](1), Derived["PurePosixPath"]("a"), Derived["OrderedDict"](a=1), Derived["defaultdict"](list),
        datetime.datetime(2024, 1, 2, tzinfo=Derived["tzinfo"]()), weakref.ref(kept, lambda reference: calls.append("let go of a value")), weakref.proxy(kept), weakref.proxy(thing),
        weakref.WeakValueDictionary(kept=kept), weakref.WeakSet([kept]), kept, types.MethodType(Plain(), Plain()), types.MethodType(Class(), 1),
        classmethod(Plain()), property(Plain()), (each for each in cycle), iter(cycle), memoryview(b"abc"), sys._getframe(), object(),
        types.MappingProxyType(table),
        type("T" * 100_000, (), {"__slots__": ("s" * 10_000,)})(), late, {"k" * 100_000: "v" * 100_000},
        deep(lambda value: [value]), deep(lambda value: (value,)), deep(lambda value: {"a": value}), deep(object_with), deep(error_from),
    ]
    if "numpy" in sys.argv:
        import numpy
        Array = hostile("Array", numpy.ndarray)
        any_objects = numpy.empty(2, object)
        any_objects[0], any_objects[1] = thing, any_objects
        values += [numpy.arange(10_000_000), numpy.arange(4).view(Array), any_objects]
    return values


def make_large():
    return ["x" * (1 << 30), "\u20ac" * (1 << 24), list(range(10_000_000)), tuple(range(1_000_000)), dict.fromkeys(range(1_000_000)),
            set(range(1_000_000)), frozenset(range(1_000_000)), bytes(1 << 24), bytearray(1 << 24), 1 << (1 << 24), range(10**10_000)]


def take(value, *rest, key=None, **named):
    first = value
    second = [first, rest]
    third = {"value": second, "key": key}
    del second
    for fourth in (1, first, named):
        fifth = fourth
    return first


def generate(value):
    got = yield value
    yield got, value


def throw(error):
    kept = error
    try:
        raise kept
    except ValueError as caught:
        inner = caught
    return inner


def use(value):
    take(value)
    take(value, value, key=value, named=value)
    generator = generate(value)
    next(generator)
    generator.send(value)
    generator.close()
    if type(value) is Error or type(value) is Derived["ValueError"]:
        throw(value)
        BaseException.__dict__["__traceback__"].__set__(value, None)


def use_all(values):
    for i in range(len(values)):
        use(values[i])


def ends():
    """When the last reference goes, the object's end comes at once."""
    def hold(last):
        calls.append("held")
        last = None
        calls.append("let go")
    hold(Last("an argument"))
    hold(Last("another"))
    calls.append("after")


def frames():
    """What f_locals says, and when."""
    seen = sys._getframe().f_locals
    before = 1
    first = dict(seen)
    after = 2
    return first.keys(), sorted(dict(seen)), locals() is locals(), before, after, sum(type(each) is types.FrameType for each in gc.get_objects())


def state():
    return gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), len(gc.callbacks), len(gc.garbage)


def collections_of():
    return [each["collections"] for each in gc.get_stats()], [each["collected"] for each in gc.get_stats()]


references = getattr(sys, "gettotalrefcount", int)  # which a debug build has


def main():
    global is_armed
    values = make_large() if "large" in sys.argv else make_values()
    gc.collect()
    is_armed = True
    use_all(values)  # whatever is kept for the next time is kept now
    report = [state()]
    gc.collect()
    gc.disable()
    before, blocks = (gc.get_count()[0], len(gc.get_objects())), sys.getallocatedblocks()
    counts = [sys.getrefcount(each) for each in values]
    total = references()
    use_all(values)
    kept_references = references() - total
    counts_then = [sys.getrefcount(each) for each in values]
    after, kept_blocks = (gc.get_count()[0], len(gc.get_objects())), sys.getallocatedblocks() - blocks
    report += [counts, counts == counts_then, [then - now for then, now in zip(after, before)], kept_references, kept_blocks < 50]
    gc.enable()
    gc.collect()
    collected = collections_of()
    held = []
    for i in range(6_000):
        held.append(take([i]))
    report += [[[then - now for then, now in zip(*each)] for each in zip(collections_of(), collected)], gc.get_count()[1:]]
    held.clear()
    report += [frames(), state()]
    is_armed = False
    ends()
    del values[:]
    gc.collect()
    report.append(calls)
    for line in report:
        print(line)
    print("bytes", os.read(os.open(__file__, os.O_RDONLY), 4))


main()
raise SystemExit(7)
