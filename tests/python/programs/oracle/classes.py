# SPDX-License-Identifier: Apache-2.0
"""Classes: construction, properties, descriptors, operators, metaclasses, slots, super, abstract methods."""
import abc
import functools


class Meta(type):
    def __new__(meta, name, bases, namespace, **options):
        made = super().__new__(meta, name, bases, namespace)
        made.options = options
        return made

    def __call__(cls, *args):
        return super().__call__(*args)

    def __getitem__(cls, item):
        return cls, item


class Checked:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name)

    def __set__(self, instance, value):
        if value < 0:
            raise ValueError(self.name)
        setattr(instance, self.name, value)


class Vector(metaclass=Meta, dimension=2):
    x = Checked()
    y = Checked()
    made = 0

    def __init__(self, x, y):
        self.x, self.y = x, y
        type(self).made += 1

    def __add__(self, other):
        if not isinstance(other, Vector):
            return NotImplemented
        return Vector(self.x + other.x, self.y + other.y)

    def __radd__(self, other):
        return self

    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)

    def __hash__(self):
        return hash((self.x, self.y))

    def __bool__(self):
        return bool(self.x or self.y)

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __iter__(self):
        yield self.x
        yield self.y

    def __contains__(self, n):
        return n in (self.x, self.y)

    def __call__(self, *args, **kwargs):
        return args, kwargs

    def __getattr__(self, name):
        if name.startswith("dyn"):
            return name
        raise AttributeError(name)

    def __format__(self, spec):
        return f"<{self.x}{spec}{self.y}>"

    @property
    def norm(self):
        return self.x ** 2 + self.y ** 2

    @functools.cached_property
    def cached(self):
        return self.norm + 1

    @classmethod
    def unit(cls):
        return cls(1, 1)

    @staticmethod
    def zero():
        return Vector(0, 0)


class Base(abc.ABC):
    __slots__ = ("value",)

    @abc.abstractmethod
    def get(self): ...

    def twice(self):
        return self.get() * 2


class Left(Base):
    __slots__ = ()

    def get(self):
        return getattr(self, "value", 1)


class Right(Base):
    __slots__ = ()

    def get(self):
        return 10


class Both(Left, Right):
    __slots__ = ()

    def get(self):
        return super().get() + Right.get(self)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.subclassed = True


def attempt(function):
    try:
        return function()
    except (ValueError, TypeError, AttributeError) as error:
        return type(error).__name__


v = Vector(1, 2)
print(tuple(v + Vector.unit()), tuple(sum([v, v], Vector.zero())), v.norm, v.cached, v.cached, f"{v:/}", len(v), v[1])
print(v == Vector(1, 2), 2 in v, bool(Vector.zero()), v(1, k=2), v.dynamic, hash(v) == hash((1, 2)), Vector[3][1])
print(attempt(lambda: Vector(-1, 0)), attempt(lambda: v + 1), attempt(lambda: v.nothing), attempt(Base), Vector.options)
print(Both().get(), Both().twice(), type("Sub", (Both,), {}).subclassed, Vector.made)
