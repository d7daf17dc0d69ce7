# SPDX-License-Identifier: Apache-2.0
"""Every kind of statement, in the forms that line and branch coverage can get wrong.

Some of it runs, some does not: which is for coverage.py to say.
"""
from __future__ import annotations

import asyncio, contextlib, sys; import functools as tools
import typing
from typing import (
    TYPE_CHECKING,
    overload,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
else:
    Iterator = object

if typing.TYPE_CHECKING: import os

"""A string that is no docstring."""
"""Another,
of two lines."""

LONG = [
    1,
    2, 3,
    *range(
        4),
]
MAPPING = {
    "a": 1,
    **{"b":
       2},
}
TEXT = """one
two
"""; AFTER = 1; \
    CONTINUED = 2
TEXT_2 = f"""{
    TEXT!r:>10} and {
    AFTER}"""
declared: int
declared_too: int = 1
x = y = (
    1 if AFTER
    else 2
)
x, (y, *z) = 1, (2, 3)
x += 1; del y

if 0:
    never = 1
if 1:
    always = 1
else:
    never = 2
if __debug__:
    always = 2
if not __debug__:
    never = 3
if not (True and 1): never = 4
while 0:
    never = 5
while True: break
if False: pass
else: always = 3


def one_line(): return 1
def one_line_with_docstring(): "Docstring."
def one_line_not_called(): return [i for i in range(3)]
class OneLine(Exception): pass
class OneLineBody: attribute = 1; other = 2
async def one_line_async(): return 1
def one_line_generator(): yield 1
def long_header(a,
                b=1): return a
def one_line_branch(a): return 1 if a else 2
@tools.cache
def one_line_decorated(): return 1


one_line(); one_line_with_docstring(); long_header(1); one_line_branch(1); one_line_decorated(); list(one_line_generator())


def docstring():
    """One."""


def docstring_of_three():
    """One

    three."""
    return 1


def declarations():
    global declared
    nonlocal_to_be = 1

    def inner():
        nonlocal nonlocal_to_be
        nonlocal_to_be = 2
        pass
    inner()
    pass
    ...
    "a string"
    1
    declared = nonlocal_to_be


def stub(a, b): ...


def stub_2(
    a,
) -> int: ...


def stub_3():
    ...


@overload
def overloaded(a: int) -> int: ...
@overload
def overloaded(a: str) -> str: ...
def overloaded(a):
    return a


docstring(), docstring_of_three(), declarations(), overloaded(1)


def decorator(*_):
    return lambda what: what


@decorator(
    1,
    2,
)
@decorator()
# A comment between.
@decorator(lambda: 1 if x
           else 2)
def decorated(
    a=1,
    *,
    b: int = 2,
) -> None:
    return None


@decorator()
class Decorated(
    object,
    metaclass=type,
):
    """A class."""

    field: int = 1
    if field:
        other = 2
    else:
        other = 3
    for field in ():
        pass

    @property
    def value(self):
        return self.field

    @value.setter
    def value(self, value):
        self.field = value

    class Inner:
        def method(self):
            def in_method():
                return 1
            return in_method()

    async def coroutine(self):
        return 1


decorated(); Decorated().value; Decorated.Inner().method()


def conditions(a, b=0):
    if a: x = 1
    if a: return 1
    if a and b: return 2
    if a or b: x = 1
    elif a: x = 2
    else: x = 3
    if (a and
            b):
        x = 4
    elif (
        a
    ):
        x = 5
    elif b:
        x = 6
    if not a:
        pass
    if a is None or b is None:
        x = 7
    else:
        if b:
            x = 8
    if (n := a) and n > 1:
        x = 9
    x = a if b else (
        b if a
        else 1)
    x = a and b or (
        a or
        b)
    if a if b else b:
        x = 10
    if 1 and a:
        x = 11
    if a or 1:
        x = 12
    assert a in (0, 1, 2), (
        "never")
    if a == 0 == b: return x
    return [a, b][
        0 if a
        else 1]


for a in (0, 1): conditions(a)
conditions(0, 1); conditions(0, 2)


def raising(a):
    if a == 1: raise OneLine
    if a == 2: raise OneLine(
        a)
    if a == 3:
        raise OneLine from None
    try:
        if a == 4: raise OneLine
        if a == 5: raise ValueError(a)
        if a == 6:
            raise KeyError
        x = 1
    except (OneLine, ZeroDivisionError): x = 2
    except ValueError as error:
        x = error
        if a == 7:
            raise
    except KeyError:
        raise OneLine
    except:
        raise
    else:
        x = 3
        if a: return x
    return x


def suppressed(function, *args):
    with contextlib.suppress(Exception):
        return function(*args)


for a in (0, 1, 2, 4, 5, 6): suppressed(raising, a)


def for_loops(a):
    for i in a: x = i
    for i in a: return i
    for i in a:
        if i: break
        if i is None: continue
        x = i
    else:
        x = 2
    for i in a:
        if i:
            break
    for i, (j, *k) in [
        (1, (2, 3)),
    ]:
        x = j
    else: x = 3
    for i in [j for j in a if j]:
        for k in a:
            x = k
    for i in range(2):
        if a: continue
        elif i:
            x = 4
        else: break
    for i in a:
        pass


for_loops([]); suppressed(for_loops, [1]); for_loops(())


def while_loops(a):
    while a: a -= 1
    while a > 0: return a
    while True:
        a += 1
        if a > 2: break
        if a == 1:
            continue
        x = a
    while (a > 0 and
           a < 10):
        a -= 1
        if a == 7: break
    else:
        x = 1
    while 1:
        a += 1
        if a < 0:
            return x
        if a > 3:
            break
        while a:
            if a: break
        if a is None: pass
    while not a: pass
    else: x = 3
    while True:
        for i in range(2):
            if i: return i
        if a == 0:
            break
    while a:
        a = 0


while_loops(2)


def forever(a):
    while True:
        if a:
            return a
        a += 1


forever(0)


class Manager:
    def __init__(self, swallows=False): self.swallows = swallows
    def __enter__(self): return self
    def __exit__(self, *_): return self.swallows
    async def __aenter__(self): return self
    async def __aexit__(self, *_): return False


def with_statements(a):
    with Manager(): x = 1
    with Manager() as m, Manager() as n:
        x = 2
    with (
        Manager() as m,
        Manager(),
    ):
        x = 3
        if a:
            x = 4
    with Manager():
        with Manager():
            for i in range(2):
                if i:
                    x = 5
    with Manager():
        with Manager(): x = 6
    with Manager(True):
        if a:
            raise ValueError
    with Manager(
        True
    ):
        if a:
            raise ValueError
    for i in range(3):
        with Manager():
            if i == 1:
                continue
            if i == 2:
                break
            if a == 3:
                return 3
    while True:
        with Manager():
            if a: break
            if not a:
                break
    with Manager():
        while a:
            a -= 1
    with Manager():
        try:
            if a:
                x = 7
        finally:
            x = 8
    with Manager():
        if not a:
            return 1
        else:
            return 2


with_statements(0); with_statements(1)


def with_at_the_end(a):
    with Manager():
        if a:
            x = 1


def with_in_finally(a):
    try:
        return 1
    finally:
        with Manager():
            with Manager():
                if a:
                    x = 1


def with_returns(a):
    with Manager(): return 1


with_at_the_end(0); with_in_finally(0); with_in_finally(1); with_returns(0)


def tries(a):
    try: x = 1
    except Exception: x = 2
    try:
        x = 1 // a
    except ZeroDivisionError:
        x = 2
    finally:
        if a:
            x = 3
    try:
        if a:
            return 1
    finally:
        if a:
            x = 4
        else:
            x = 5
    for i in range(2):
        try:
            if i:
                continue
            if a is None:
                break
        except ValueError:
            break
        else:
            x = 6
            if a:
                continue
        finally:
            if i: x = 7
            if a: break
    try:
        pass
    finally:
        pass
    try:
        try:
            raise ValueError
        finally:
            if x: x = 8
    except ValueError:
        pass
    while True:
        try:
            break
        finally:
            x = 9
    try:
        raise KeyError
    except (
        KeyError,
        ValueError,
    ) as error:
        return error
    finally:
        x = 10


tries(0); tries(1)


def finally_returns(a):
    try:
        if a:
            raise ValueError
    finally:
        return 1


def groups(a):
    try:
        if a: raise ExceptionGroup("g", [ValueError(), KeyError()])
    except* ValueError as group:
        x = group
    except* (KeyError,
             TypeError):
        if a: x = 1
    else:
        x = 2
    finally:
        x = 3
    return x


groups(0); groups(1)


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


def matching(value):
    match value:
        case 0: return 0
        case 1 | 2:
            x = 1
        case [a, b] if a:
            x = 2
        case [a, *_]:
            if a: x = 3
        case {"key": k,
              **rest}:
            x = 4
        case Point(x=1, y=2) | Point(3, _):
            x = 5
        case (
            str()
            | bytes()
        ) as text if text:
            x = 6
        case None: pass
        case _ if value == 3:
            x = 7
        case _:
            x = 8
    match value:
        case 5:
            x = 9
    match value, \
            x:
        case 6, _:
            x = 10
        case other:
            x = 11
    for i in range(2):
        match value:
            case 3: break
            case 4: continue
            case 1 | _: pass
    match value:
        case 7:
            return 1
        case _:  # pragma: no cover
            x = 2
    match value:
        case str():
            x = 1
        case _:
            raise ValueError  # pragma: no cover


for value in (1, 2, 3, [0, 1], [1, 2], {"key": 1}, Point(1, 2), "text", None): suppressed(matching, value)


def generator(a):
    try:
        for i in range(a):
            received = yield i
            if received:
                yield received
        yield from (
            i for i in range(a)
            if i
        )
        x = yield
    finally:
        x = 2
    return (yield)


list(generator(2)); next(generator(1)); generator(0)


def comprehensions(a):
    x = [i for i in a]
    x = [
        i
        for i in a
        if i
        if i > 1
    ]
    x = {i: j for i in a for j in a}
    x = {i for i in a}
    x = sum(i for i in a if i)
    x = any(
        i
        for i in a
    )
    if any(i for i in a): return 1
    if [i for i in a if i]:
        return 2
    while [i for i in a if i > 5]: return 3
    for i in (j for j in a): x = i
    f = lambda b: 1 if b else 2
    f(1)
    f = lambda: (
        1 if a
        else 2)
    f = (lambda b:
         b and a)
    x = sorted(a, key=lambda b: -b
               if b else b)
    return [lambda: i for i in a]


comprehensions([]); comprehensions([0, 0]); comprehensions([0, 2])


async def numbers(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def async_statements(n):
    async for i in numbers(n):
        x = i
    async for i in numbers(n): x = i
    async for i in numbers(n):
        if i: break
        x = i
    else:
        x = 1
    async for i in numbers(
        n
    ):
        if i:
            continue
        await asyncio.sleep(
            0)
    async with Manager(): x = 2
    async with Manager() as m, \
            Manager():
        if n:
            x = 3
    x = [i async for i in numbers(n) if i]
    x = [await one_line_async() for i in range(n)]
    async for i in numbers(n):
        async with Manager():
            if i: return 1
            x = 4
    async for i in numbers(n):
        for j in range(n):
            x = j


asyncio.run(async_statements(0)); asyncio.run(async_statements(1)); asyncio.run(async_statements(2))


type Alias = int | str
type Generic[T] = list[
    T
]


class Box[T: (int, str)]:
    item: T

    def get[U](self, default: U) -> T | U: return default


def generic[T, *Ts, **P](a: T) -> T:
    if a:
        return a
    return a


Box().get(1); generic(1)

excluded = 1  # pragma: no cover
if AFTER:  # pragma: no cover
    excluded = 2
    if excluded:
        excluded = 3
else:
    excluded = 4
if not AFTER:
    excluded = 5
elif AFTER == 2:  # pragma: no cover
    excluded = 6
else:
    excluded = 7
if AFTER:
    excluded = 8
else:  # pragma: no cover
    excluded = 9
for i in range(2):  # pragma: no branch
    excluded = 10
while AFTER:  # pragma: no branch
    if AFTER:  #pragma:no branch
        break
try:
    excluded = 11
except ValueError:  # PRAGMA: NO COVER
    excluded = 12
finally:
    excluded = 13
lambda: 1  # pragma: no cover
value = {
    "a": 1,  # pragma: no cover
    "b": 2,
}
if (AFTER and
        value):  # pragma: no cover
    excluded = 14
with Manager():  # pragma: no cover
    excluded = 15


def excluded_function(a):  # pragma: no cover
    if a:
        return 1

    def inner():
        return 2
    return 3


@decorator()  # pragma: no cover
def excluded_decorated():
    return 1


@decorator()
def excluded_header(
    a,  # pragma: no cover
):
    return 1


class ExcludedClass:  # pragma: no cover
    def method(self):
        return 1


def excluded_in_part(a):
    if a:
        raise NotImplementedError  # pragma: no cover
    for i in range(a):  # pragma: no cover
        x = i
    match a:  # pragma: no cover
        case 1:
            x = 1
    if a:  # pragma: no branch
        x = 2
    if a == 5: return 1  # pragma: no cover
    if a == 6:
        return 1  # pragma: no cover
    elif a == 7:
        return 2
    return x if a else a


excluded_in_part(0)
with contextlib.suppress(ZeroDivisionError):
    1 // 0
    excluded = 16
if len(sys.argv) > 1:
    def defined_in_a_branch():
        return 1
    class DefinedInABranch:
        pass
else: pass
if sys.argv: pass
