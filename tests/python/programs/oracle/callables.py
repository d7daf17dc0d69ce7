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
    len, iter, isinstance, print, math.sqrt, math.floor, sys.getrefcount,
    [].append, {}.get, "a-b".split, (x for x in "ab").__next__, list.append, str.upper, Listed().append,
    dict.fromkeys, bytes.fromhex, object.__new__, (1).__add__, int.__add__,
    Thing, Thing.Inner, Thing.Inner().deep, thing.method, Thing.method, Thing.of_class, Thing.of_nothing, thing, Made,
    functools.partial(len, "x"), functools.lru_cache(lambda: 1), operator.itemgetter(0), operator.methodcaller("upper"),
    type, super, property, range, Exception, itertools.count, collections.OrderedDict, collections.Counter,
    function, lambda x: x,
]
arguments = [(), (4,), ("x",), ([],), ("ab",), ([], 1), (1, 2), (object, object)]
for call in functions:
    if call is not print:
        print([fails(call, *args) for args in arguments], end=" ")
print(len("x"), math.sqrt(4), [1].pop(), "x".upper(), function())
print(Thing().method().of_class().of_nothing(), Thing.Inner().deep())
functions.clear()  # while somebody looks: there is a generator among them
