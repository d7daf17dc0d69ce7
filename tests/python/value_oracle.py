# SPDX-License-Identifier: Apache-2.0
"""What Python itself says of an object, by docs/guide/values.md, in the form of `kymo events --jsonl`: the oracle of test_values_encoding.py.

Here the objects' own methods are called, and no layout is known.  "text" is told of what has no items, and of builtins that are whole.
"""
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import sys
import types
import uuid
import zoneinfo

CONTAINERS = (tuple, list, set, frozenset, dict)
BUILTINS = (int, float, complex, str, bytes, bytearray, *CONTAINERS, range, slice)
if sys.version_info >= (3, 15):
    BUILTINS += (frozendict,)  # noqa: F821
NAMES = {"NoneType", "bool", "ellipsis", "NotImplementedType", *(each.__name__ for each in BUILTINS)}
LIBRARY = (decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath, datetime.datetime, datetime.date, datetime.time,
           datetime.timedelta, datetime.timezone)
NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, types.CodeType, types.GeneratorType,
         types.CoroutineType, types.AsyncGeneratorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
         types.WrapperDescriptorType, types.MemberDescriptorType, types.GetSetDescriptorType)
WITHOUT_ID = (int, float, complex, str, bytes, tuple, range, slice, *LIBRARY)
MAX_DIGITS = 4300
REDACTED = {"type": None, "text": "<redacted>", "redacted": True}
SEEN = 256


def printable(name):
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def cut_text(text, limit):
    """As many whole characters as @limit bytes have room for."""
    kept = ""
    for c in text:
        limit -= len(c.encode("utf-8", "surrogatepass"))
        if limit < 0:
            break
        kept += c
    return kept


def is_secret(name):
    """By one of the words that count always."""
    if isinstance(name, tuple):
        return any(map(is_secret, name))
    return "password" in (name.decode() if isinstance(name, bytes) else name) if isinstance(name, (str, bytes)) else False


class Oracle:
    def __init__(self, depth=2, items=20, text=200):
        self.depth, self.items, self.text = depth, items, text
        self.level, self.seen = 0, []

    def tell(self, value):
        if value is None or value is ... or value is NotImplemented or value is True or value is False:
            return {"type": type(value).__name__, "text": repr(value)}
        told = {"type": type(value).__qualname__}
        is_enum = isinstance(type(value), enum.EnumType)
        is_array = self.numpy("ndarray", value)
        if self.numpy("generic", value):
            return self.scalar(value)
        if is_array or not (is_enum or isinstance(value, WITHOUT_ID)):
            if any(value is each for each in self.seen):
                return told | {"id": id(value), "seen": True, "text": f"<{told['type']} at {id(value):#x}, shown before>"}
            if len(self.seen) < SEEN and self.level < self.depth:
                self.seen.append(value)
        if is_enum:
            return told | self.member(value)
        if is_array:
            return told | self.array(value)
        if isinstance(value, collections.deque):
            return told | {"base": "list", "id": id(value), "length": len(value)} | self.list_of(value, self.tell)
        if self.pandas(value):
            return told | {"id": id(value)} | self.frame(value)
        for base in LIBRARY:
            if isinstance(value, base) and not self.is_object(value):
                return told | self.library(value, base)
        for base in BUILTINS:
            if isinstance(value, base):
                inside = getattr(self, base.__name__.replace("frozendict", "dict"))(value)
                if type(value) is not base:
                    inside |= {"type": type(value).__qualname__, "base": base.__name__}
                    inside.pop("text", None)
                return told | inside
        if isinstance(value, BaseException):
            return told | self.exception(value)
        if isinstance(value, NAMED):
            return told | self.named(value)
        return told | {"id": id(value)} | self.attributes(value)

    def part(self, value):
        """What a value has always: also where its items would be too deep."""
        is_leaf = type(value) in (int, bool, float, complex, str, bytes, type(None))
        if not is_leaf and self.level >= self.depth and value is not ... and value is not NotImplemented:
            return {"type": None, "text": "<not recorded>", "cut": True}
        self.level += 1
        told = self.tell(value)
        self.level -= 1
        return told

    def list_of(self, items, tell):
        """{items}, and whether some are missing."""
        items = list(items)
        kept = items[:self.items] if self.level < self.depth else []
        self.level += 1
        told = {"items": [tell(each) for each in kept]}
        self.level -= 1
        return told | ({"cut": True} if len(kept) < len(items) else {})

    def whole(self, value, told):
        """With its text, if that is repr()'s: of builtins that are told whole."""
        def is_whole(each):
            if isinstance(each, list):
                return all(map(is_whole, each))
            return each["type"] in NAMES and not each.keys() & {"base", "cut", "seen"} and "text" in each
        if "cut" not in told and is_whole(told["items"]):
            told["text"] = repr(value)
        return told

    def int(self, value):
        value = int(value)
        kept = (abs(value).bit_length() + 7) // 8
        if kept > max(self.text, 8) or (kept > self.text and not -1 << 63 <= value < 1 << 63):
            return {"type": "int", "text": f"{'-' * (value < 0)}≈2**{abs(value).bit_length() - 1}", "cut": True}
        return {"type": "int", "text": repr(value) if abs(value) < 10 ** MAX_DIGITS else hex(value)}

    def float(self, value):
        return {"type": "float", "text": float.__repr__(value)}

    def complex(self, value):
        return {"type": "complex", "text": complex.__repr__(value)}

    def str(self, value):
        kept = cut_text(str.__str__(value), self.text)
        cut = len(value) - len(kept)
        return {"type": "str", "text": repr(kept) + (f"…+{cut}" if cut else ""), "length": len(value)} | ({"cut": True} if cut else {})

    def bytes(self, value):
        cut = max(0, len(value) - self.text)
        shown = repr(bytes(value[:self.text])) + (f"…+{cut}" if cut else "")
        return {"type": "bytes", "text": shown, "length": len(value)} | ({"cut": True} if cut else {})

    def bytearray(self, value):
        told = self.bytes(value)
        return told | {"type": "bytearray", "id": id(value), "text": f"bytearray({told['text']})"}

    def container(self, value):
        told = self.list_of(value, self.tell) | {"length": len(value)}
        return self.whole(value, told)

    def tuple(self, value):
        return self.container(value)

    def list(self, value):
        return self.container(value) | {"id": id(value)}

    set = frozenset = list

    def dict(self, value):
        told = self.list_of(dict.items(value) if isinstance(value, dict) else value.items(), lambda pair: [self.tell(each) for each in pair])
        return self.whole(value, told | {"length": len(value)}) | {"id": id(value)}

    def three(self, value):
        return self.whole(value, {"items": [self.part(each) for each in (value.start, value.stop, value.step)]})

    range = slice = three

    @staticmethod
    def is_object(value):
        """Where the library's own text is not told."""
        if isinstance(value, fractions.Fraction):
            return max(abs(value.numerator), value.denominator) >= 1 << 60
        return type(value).__qualname__ == "NaTType"

    def library(self, value, base):
        if base in (datetime.datetime, datetime.time) and value.tzinfo and not isinstance(value.tzinfo, datetime.timezone):
            zone = f"[{value.tzinfo.key}]" if isinstance(value.tzinfo, zoneinfo.ZoneInfo) and value.tzinfo.key else "+??:??"
            text = base.__str__(value.replace(tzinfo=None)) + zone
        else:
            text = type(value).__str__(value) if base is pathlib.PurePath else base.__str__(value)
        kept = cut_text(text, self.text)
        shown, name = kept + "…" * (kept != text), printable(type(value).__qualname__)
        if name == "Fraction" and kept == text:
            shown = repr(value)
        elif name not in ("datetime", "date", "time", "timedelta"):
            shown = f"{name}({kept!r}{'…' * (kept != text)})"
        return {"text": shown, "str": printable(kept) + "…" * (kept != text)} | ({"cut": True} if kept != text else {})

    def label(self, name):
        kept = cut_text(name, self.text)
        return printable(kept) + "…" * (kept != name)

    def member(self, value):
        if not value._name_:
            return {"id": id(value)} | self.attributes(value)
        is_cut = cut_text(value._name_, self.text) != value._name_
        shown = f"{printable(type(value).__qualname__)}.{self.label(value._name_)}"
        return {"id": id(value), "text": shown, "items": [self.part(value._value_)]} | ({"cut": True} if is_cut else {})

    def named(self, value):
        kind, id_ = type(value).__qualname__, id(value)
        while isinstance(value, types.MethodType):
            value = value.__func__
        if isinstance(value, types.ModuleType):
            name, shown = vars(value)["__name__"], "module '{}'"
        elif isinstance(value, types.CodeType):
            name, shown = value.co_qualname, "code {}"
        elif isinstance(value, type):
            name = type.__dict__["__qualname__"].__get__(value)
            shown = "class '{}'" if kind == "type" else kind + " {}"
        else:
            name, shown = value.__qualname__, kind + " {}"
        if not shown.endswith("'"):
            shown += f" at {id_:#x}"
        is_cut = cut_text(name, self.text) != name
        return {"id": id_, "text": f"<{shown.format(self.label(name))}>"} | ({"cut": True} if is_cut else {})

    def attributes(self, value):
        found = {}
        for cls in reversed(type(value).__mro__):
            members = [(name, member) for name, member in vars(cls).items() if isinstance(member, types.MemberDescriptorType)]
            for name, member in sorted(members) if cls.__flags__ & 1 << 9 else ():
                try:
                    found[name] = member.__get__(value, type(value))
                except AttributeError:
                    pass
        if type(value).__dictoffset__:
            found |= value.__dict__
        found = [(name, each) for name, each in found.items() if isinstance(name, str)]
        told = self.list_of(found, lambda pair: (self.label(pair[0]), self.tell(pair[1])))
        told["attributes"] = dict(told.pop("items"))
        return told

    def exception(self, value):
        told = {"id": id(value), "items": self.tell(value.args).get("items", [])}
        cause, context = self.part(value.__cause__), self.part(None if value.__suppress_context__ else value.__context__)
        if value.__cause__ is not None:
            told["cause"] = cause
        if not value.__suppress_context__ and value.__context__ is not None:
            told["context"] = context
        attributes = self.attributes(value)
        if attributes.pop("cut", False) or attributes["attributes"]:
            told |= attributes
            told |= {"cut": True} if len(attributes["attributes"]) < len(vars(value)) else {}
        return told

    @staticmethod
    def numpy(name, value):
        return "numpy" in sys.modules and isinstance(value, getattr(sys.modules["numpy"], name))

    def scalar(self, value):
        told = self.tell(value.item())
        name = type(value).__qualname__
        return told | {"type": name, "base": told["type"], "text": told["text"] if told["type"] == "bool" else f"{name}({told['text']})"}

    def array(self, value):
        kind = value.dtype.kind
        dtype = f"|V{value.dtype.itemsize}" if kind == "V" else str(value.dtype)
        owner = value
        while isinstance(owner, sys.modules["numpy"].ndarray):
            owner = owner.base
        is_read = kind != "V" and value.dtype.isnative and (owner is None or type(owner) in (bytes, bytearray))
        items = (value.astype("i8") if kind in "mM" else value.astype("f8") if kind == "f" else value).ravel().tolist() if is_read else []
        told = {"id": id(value), "dtype": dtype, "shape": list(value.shape)} | self.list_of(items, self.tell)
        for each, ticks in zip(told["items"], items) if kind in "mM" and value.dtype.str[-1] == "]" else ():
            each |= {"ticks": ticks}
            del each["text"]  # test_values_written.py has what numpy says
        return told | ({"cut": True} if not is_read else {})


    @staticmethod
    def pandas(value):
        pandas = sys.modules.get("pandas")
        return pandas and isinstance(value, (pandas.Series, pandas.DataFrame))

    def frame(self, value):
        """Of a Series its name, its labels and its values, of a DataFrame its labels and its columns."""
        is_series = value.ndim == 1
        harmless = self.are_known(value.index) and not any(is_secret(each) for each in value.index[:self.items])
        told = {"index": lambda: self.labels(value.index)}
        if is_series:
            told = {"name": lambda: self.tell(value.name)} | told
            told["values"] = lambda: REDACTED if is_secret(value.name) else self.column(value, 0, harmless)
        else:
            known = self.are_known(value.columns)
            for i, label in enumerate(value.columns):
                name = str(label) if known and isinstance(label, (str, int)) else str(i)
                name = self.label(name)
                told[name] = (lambda: REDACTED) if known and is_secret(label) else lambda i=i: self.column(value, i, known and harmless)
        return self.named_parts(told)

    def named_parts(self, parts):
        kept = list(parts)[:self.items] if self.level < self.depth else []
        self.level += 1
        told = {"attributes": {name: parts[name]() for name in kept}}
        self.level -= 1
        return told | ({"cut": True} if len(kept) < len(parts) else {})

    @staticmethod
    def plain(values):
        """The array that tells all of @values, or None."""
        numpy = sys.modules["numpy"].ndarray
        if isinstance(values, numpy):
            return values
        inside = getattr(values, "_ndarray", None)
        return inside if inside is not None and inside.dtype.kind in "OMm" else None

    def known_labels(self, index):
        if isinstance(getattr(index, "_data", None), sys.modules["pandas"].arrays.ArrowStringArray):
            return index._data
        if isinstance(index, sys.modules["pandas"].RangeIndex):
            return index._range
        labels = self.plain(getattr(index, "_data", None))
        return index._cache["_engine"].values if labels is None and "_engine" in index._cache else labels

    def are_known(self, index):
        return self.known_labels(index) is not None

    def labels(self, index):
        if is_secret(index.name):
            return REDACTED
        labels = self.known_labels(index)
        if labels is not None:
            return self.tell(labels) if isinstance(labels, range) else self.items_of(labels)
        name = type(index).__qualname__
        kept = type(getattr(index, "_data", index)).__qualname__
        return {"type": name, "text": f"<{name}, kept as a {kept}, which Kymo does not read>", "cut": True}

    def items_of(self, array):
        if isinstance(array, sys.modules["pandas"].arrays.ArrowStringArray):
            items = array._pa_array.to_pylist()
            return {"type": type(array).__qualname__, "id": id(array), "dtype": str(array.dtype), "shape": [len(array)]} | self.list_of(items, self.tell)
        return {"type": type(array).__qualname__} | self.array(array)

    def column(self, value, i, is_told):
        """By the block of columns that it lies in: its array is the one that has an identity."""
        block = next(block for block in value._mgr.blocks if value.ndim == 1 or i in block.mgr_locs.as_array)
        array = block.values if isinstance(block.values, sys.modules["pandas"].arrays.ArrowStringArray) else self.plain(block.values)
        if array is None:
            return self.tell(block.values) if is_told else {"type": None, "text": "<not recorded>", "cut": True}
        part = array[list(block.mgr_locs.as_array).index(i)] if array.ndim == 2 else array
        level, self.level = self.level, self.level if is_told else self.depth
        told = self.items_of(part)
        self.level = level
        return told | {"id": id(array)}


# Types of every kind.

class Plain:
    def __init__(self, *values, **named):
        if values:
            self.values = values
        self.__dict__.update(named)

    def method(self):
        pass


class Slotted:
    __slots__ = ("zeta", "alpha", "_private", "unset")

    def __init__(self, zeta=1, alpha=2):
        self.zeta, self.alpha, self._private = zeta, alpha, [zeta]


class Both(Slotted):
    __slots__ = ("own", "__dict__", "__weakref__")


@dataclasses.dataclass
class Point:
    x: int
    y: object = None


@dataclasses.dataclass(slots=True, frozen=True)
class Pixel:
    x: int
    y: object = None


Row = collections.namedtuple("Row", "number text")
Color = enum.Enum("Color", {"RED": 1, "GREEN": [2, [3]], "BLUE": "b"})
Permission = enum.IntFlag("Permission", "R W X")
Level = enum.IntEnum("Level", "LOW HIGH")
Word = enum.StrEnum("Word", {"YES": "yes"})


class MyInt(int):
    pass


class MyFloat(float):
    pass


class MyStr(str):
    __slots__ = ()


class MyBytes(bytes):
    pass


class MyList(list):
    pass


class MyTuple(tuple):
    pass


class MyDict(dict):
    pass


class MyDeque(collections.deque):
    pass


class MySet(set):
    pass


class MyFrozen(frozenset):
    pass


class MyBytearray(bytearray):
    pass


class MyError(ValueError):
    pass
