# SPDX-License-Identifier: Apache-2.0
"""attrs: classes with validators, converters, slots, hooks and bases, made by the dozen and used."""
import attr
import attrs


def check_even(instance, attribute, value):
    if value % 2:
        raise ValueError(f"{attribute.name} of {type(instance).__name__} is odd: {value}")


@attrs.define
class Point:
    x: int = attrs.field(converter=int, validator=attrs.validators.ge(0))
    y: int = attrs.field(default=0, converter=attrs.converters.optional(int))
    tags: list = attrs.field(factory=list, eq=False, repr=lambda tags: f"<{len(tags)}>")

    @y.validator
    def check(self, attribute, value):
        if value is not None and value > 90:
            raise ValueError(attribute.name)

    def __attrs_post_init__(self):
        self.tags.append(self.x)


@attrs.frozen(order=True, kw_only=True)
class Frozen:
    name: str = attrs.field(validator=[attrs.validators.instance_of(str), attrs.validators.max_len(9)])
    size: int = attrs.field(default=attrs.Factory(lambda self: len(self.name), takes_self=True))


@attr.s(auto_attribs=True, slots=True, cache_hash=True, hash=True)
class Old:
    n: int = attr.ib(validator=attr.validators.and_(attr.validators.instance_of(int), check_even))
    kind: str = attr.ib(default="a", validator=attr.validators.in_("abc"))


@attrs.define(on_setattr=attrs.setters.pipe(attrs.setters.convert, attrs.setters.validate))
class Below(Point):
    below: list["Point"] = attrs.field(
        factory=list, validator=attrs.validators.deep_iterable(attrs.validators.instance_of(Point)))
    pairs: dict = attrs.field(factory=dict, metadata={"why": "nested"})


def trying(function, *args, **names):
    try:
        return function(*args, **names)
    except (ValueError, TypeError, AttributeError, attrs.exceptions.FrozenInstanceError) as error:
        return type(error).__name__


def make_classes():
    """Each is compiled: code that is no file's."""
    for n in range(25):
        fields = {f"field{k}": attrs.field(default=k, converter=str if k % 2 else None, repr=k % 3 > 0)
                  for k in range(n % 7 + 1)}
        made = attrs.make_class(f"Made{n}", fields, slots=bool(n % 2), order=not n % 3, frozen=not n % 4)
        instances = [made(*range(k)) for k in range(len(fields) + 1)]
        yield repr(instances[-1]), [a == b for a in instances for b in instances]
        if not n % 3:
            yield trying(max, instances)


def use_classes():
    for n in range(600):
        point = trying(Point, f"{n}" if n % 5 else "none", n % 100 or None)
        old = trying(Old, n, "abcd"[n % 4])
        frozen = trying(Frozen, name="n" * (n % 12))
        below = trying(Below, n, below=[point], pairs={n: {"deep": [old, frozen]}})
        yield repr(point), repr(old), repr(frozen), hash(old) == hash(old)
        if isinstance(below, Below):
            trying(setattr, below, "x", -n if n % 3 else "12")
            trying(setattr, below, "below", [n])
            yield attrs.asdict(below, filter=attrs.filters.exclude(list)), attrs.astuple(below, recurse=n % 2)
            yield attrs.evolve(below, y=n % 7) == below, trying(lambda: below < point)
        if isinstance(frozen, Frozen):
            trying(setattr, frozen, "name", "")
            yield trying(attrs.evolve, frozen, size=n), frozen >= Frozen(name="x"), attrs.fields_dict(Frozen).keys()


print(sum(len(str(each)) for function in (make_classes, use_classes) for each in function()))
