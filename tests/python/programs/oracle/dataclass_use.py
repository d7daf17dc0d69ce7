# SPDX-License-Identifier: Apache-2.0
"""What the standard library generates or runs in Python: dataclasses, enums, named tuples, abstract collections."""
import collections
import dataclasses
import enum
from collections import abc


@dataclasses.dataclass(order=True)
class Item:
    name: str
    price: float = 1.0
    tags: list = dataclasses.field(default_factory=list, compare=False)

    def __post_init__(self):
        self.name = self.name.lower()


@dataclasses.dataclass(frozen=True)
class Fixed:
    value: int


class Colour(enum.Enum):
    RED = 1
    GREEN = 2

    @property
    def other(self):
        return Colour.GREEN if self is Colour.RED else Colour.RED


class Flags(enum.IntFlag):
    A = enum.auto()
    B = enum.auto()


class Window(abc.Sequence):
    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


Pair = collections.namedtuple("Pair", "left right", defaults=[0])
items = [Item("B", 2.0), Item("a"), Item("C", tags=["x"])]
print(sorted(items), items[0] == Item("b", 2.0), dataclasses.asdict(items[2]), dataclasses.replace(items[0], price=0))
try:
    Fixed(1).value = 2
except dataclasses.FrozenInstanceError:
    print("frozen", hash(Fixed(1)) == hash(Fixed(1)))
print(Colour.RED.other, Colour(2), Colour["RED"], [c.name for c in Colour], Flags.A | Flags.B, Flags(3) & ~Flags.A)
print(Pair(1)._replace(right=5), Window(1, 2, 3)[::-1])
print(2 in Window(1, 2), list(reversed(Window(1, 2))), Window(1, 1).count(1))
