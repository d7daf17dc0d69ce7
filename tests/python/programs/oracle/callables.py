# SPDX-License-Identifier: Apache-2.0
"""Calls of everything that can be called, so that each kind of name is seen."""
import collections
import functools
import itertools
import math
import operator
import sys


class Thing:
    def method(self):
        return self

    @classmethod
    def of_class(cls):
        return cls

    @staticmethod
    def of_nothing():
        return None

    def __call__(self):
        return "called"

    class Inner:
        def deep(self):
            return "deep"


class Listed(list):
    def append(self, item):
        super().append(item)


class Meta(type):
    def __call__(cls):
        return super().__call__()


class Made(metaclass=Meta):
    pass


def function():
    def nested():
        return "nested"
    return nested()


def fails(call, *args):
    try:
        call(*args)
    except Exception as error:
        return type(error).__name__


thing = Thing()
functions = [
    len, math.sqrt, sys.getrefcount, [].append, {}.get, "a-b".split, str.upper, dict.fromkeys, object.__new__, (1).__add__,
    int.__add__, list.append, Thing, thing.method, Thing.method, Thing.of_class, Thing.of_nothing, thing, Thing.Inner,
    Thing.Inner().deep, functools.partial(len, "x"), operator.itemgetter(0), operator.methodcaller("upper"), Listed().append,
    itertools.count, collections.OrderedDict, collections.Counter, Made, function, lambda x: x, type, super, property, range,
    isinstance, print, Exception, functools.lru_cache(lambda: 1), (x for x in "ab").__next__, iter, math.floor, bytes.fromhex,
]
arguments = [(), (4,), ("x",), ([],), ("ab",), ([], 1), (1, 2), (object, object)]
for call in functions:
    if call is not print:
        print([fails(call, *args) for args in arguments], end=" ")
print(len("x"), math.sqrt(4), [1].pop(), "x".upper(), Thing().method().of_class().of_nothing(), Thing.Inner().deep(), function())
functions.clear()  # while somebody looks: there is a generator among them
