# SPDX-License-Identifier: Apache-2.0
"""What variables held, from the values in `kymo events --jsonl`."""

import ast

_CONSTANTS = {"NoneType": None, "ellipsis": Ellipsis, "NotImplementedType": NotImplemented}
_CONTAINERS = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}


class Value:
    """What a variable held, as far as it was recorded.  It does not change.

    `value["key"]` and `value[0]` are items, `value.name` is an attribute; for names that are used below, and for
    those that are not identifiers, use `attributes`.
    """

    __slots__ = ("_told",)

    def __init__(self, told):
        object.__setattr__(self, "_told", told)

    def __setattr__(self, name, value=None):
        raise AttributeError("recorded values are read-only")

    __delattr__ = __setattr__

    @property
    def type(self):
        """The name of its type: "int", "User"; None: it has none, or it is not known."""
        return self._told["type"]

    @property
    def text(self):
        """Builtins as in repr(), with "…" where something was cut; `<User at 0x7f…: name='x'>`."""
        return self._told["text"]

    @property
    def id(self):
        """Its id(), if that was recorded."""
        return self._told.get("id")

    @property
    def length(self):
        """The length of a str, bytes or container in the program, cut or not."""
        return self._told.get("length")

    @property
    def is_cut(self):
        """A part of it was not recorded; cuts inside of its items do not count."""
        return self._told.get("cut", False)

    @property
    def is_redacted(self):
        return self._told.get("redacted", False)

    @property
    def is_unbound(self):
        """The variable no longer has a value."""
        return self._told.get("unbound", False)

    @property
    def items(self):
        """The recorded items of a container; pairs for a dict; the args of an exception."""
        items = self._told.get("items", ())
        return tuple(tuple(map(Value, item)) if isinstance(item, list) else Value(item) for item in items)

    @property
    def attributes(self):
        """The recorded attributes, by name."""
        return {name: Value(told) for name, told in self._told.get("attributes", {}).items()}

    @property
    def cause(self):
        """Of an exception: its __cause__, or None."""
        return Value(self._told["cause"]) if "cause" in self._told else None

    @property
    def context(self):
        """Of an exception: its __context__, if that is not suppressed, or None."""
        return Value(self._told["context"]) if "context" in self._told else None

    @property
    def python(self):
        """The same value as a Python object, if it is of a builtin type and was recorded as a whole; else ValueError."""
        told = self._told
        try:
            if not (told.keys() & {"cut", "base"} or told["text"].startswith("<")):
                return self._make(told["type"])
        except (KeyError, SyntaxError, TypeError):
            pass
        raise ValueError(f"{self.text} cannot be converted: its type is not a builtin, or it was not recorded completely")

    def _make(self, type):
        if type in _CONTAINERS:
            return _CONTAINERS[type](Value(item).python for item in self._told["items"])
        if type == "dict":
            return {Value(key).python: Value(value).python for key, value in self._told["items"]}
        if type in ("range", "slice"):
            return {"range": range, "slice": slice}[type](*(Value(item).python for item in self._told["items"]))
        if type in ("float", "complex"):
            return {"float": float, "complex": complex}[type](self.text)
        if type == "bytearray":
            return bytearray(ast.literal_eval(self.text.removeprefix("bytearray(").removesuffix(")")))
        if type in ("int", "bool", "str", "bytes"):
            ticks = self._told.get("ticks", self.text)  # of an item in an array of times
            return int(str(ticks), 0) if type == "int" else ast.literal_eval(self.text)
        return _CONSTANTS[type]

    def __getitem__(self, key):
        items = self.items
        if not items or isinstance(items[0], Value):
            return items[key]
        for known, value in items:
            try:
                if known.python == key:
                    return value
            except ValueError:
                pass
        raise KeyError(key)

    def __getattr__(self, name):
        try:
            return Value(self._told["attributes"][name])
        except KeyError:
            raise AttributeError(f"{self.text} has no recorded attribute {name!r}") from None

    def __eq__(self, other):
        return self._told == other._told if isinstance(other, Value) else NotImplemented

    def __hash__(self):
        return hash(self.text)

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<Value {self.text}>"

    def __reduce__(self):
        return Value, (self._told,)
