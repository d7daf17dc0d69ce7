# SPDX-License-Identifier: Apache-2.0
"""Decorators, closures, partial application, caches, and functions that make functions."""
import functools
import operator


def twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs), function(*args, **kwargs)
    return wrapper


def repeat(times):
    def decorate(function):
        def wrapper(*args):
            return [function(*args) for _ in range(times)]
        return wrapper
    return decorate


class Counted:
    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *args):
        self.calls += 1
        return self.function(*args)

    def __get__(self, instance, owner):
        return functools.partial(self, instance)


def counter():
    n = 0

    def step(by=1):
        nonlocal n
        n += by
        return n

    def reset():
        nonlocal n
        n = 0

    return step, reset


@repeat(2)
@twice
def greet(name, punctuation="!"):
    return name + punctuation


@Counted
def add(a, b):
    return a + b


class Account:
    total = 0

    @Counted
    def deposit(self, amount):
        self.total += amount
        return self.total


@functools.lru_cache(maxsize=4)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.singledispatch
def kind(value):
    return "other"


@kind.register
def _(value: int):
    return "int"


@kind.register(str)
def _(value):
    return "str"


def compose(*functions):
    return functools.reduce(lambda f, g: lambda x: g(f(x)), functions)


step, reset = counter()
account = Account()
print(greet("x"), add(1, 2), add.calls, [step(), step(5), reset(), step()])
print(account.deposit(5), account.deposit(6), fibonacci(12), fibonacci.cache_info().hits)
print([kind(v) for v in (1, "x", 2.0, True)], compose(str, len, operator.neg)(12345))
print(sorted("bca", key=lambda c: -ord(c)), list(filter(None, map(functools.partial(pow, 2), range(4)))))
print(max(range(5), key=lambda n: n % 3), functools.reduce(operator.add, [[1], [2]], []))
