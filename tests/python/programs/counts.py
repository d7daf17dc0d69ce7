# SPDX-License-Identifier: Apache-2.0
"""Prints reference counts and what the garbage collector counts, before and after work of every kind."""
import gc
import sys
import weakref


class Failure(Exception):
    pass


class Thing:
    def method(self, argument):
        return [argument]


def generate(limit):
    for n in range(limit):
        yield n


def fail(argument):
    raise Failure(argument)


def work(thing, argument):
    for n in range(50):
        thing.method(argument)
        sum(generate(n))
        try:
            fail(argument)
        except Failure as error:
            error.args
        cycle = [argument]
        cycle.append(cycle)
        [x for x in (thing, argument)]
        len(argument)
        "".join(argument)


def counts(objects):
    return [sys.getrefcount(each) for each in objects]


thing, argument = Thing(), ["a", "b"]
codes = [function.__code__ for function in (work, fail, generate, Thing.method)]
objects = [thing, argument, argument[0], Thing, Failure, ValueError, work, fail, generate, Thing.method, *codes,
           len, "".join, sum, list.append, work.__globals__, sys.modules["__main__"]]
freed = []
get_count = gc.get_count
work(thing, argument)
for turn in range(3):
    gc.collect()
    before = counts(objects), len(gc.get_objects()), sys.getallocatedblocks()
    collections = [generation["collections"] for generation in gc.get_stats()]
    work(thing, argument)
    count = get_count()
    print("count", count, [s["collections"] - c for s, c in zip(gc.get_stats(), collections)])
    print("collected", gc.collect())
    after = counts(objects), len(gc.get_objects()), sys.getallocatedblocks()
    print("references", before[0], after[0])
    print("objects", after[1] - before[1])
    before = after = None
temporary = Thing()
weakref.finalize(temporary, freed.append, "freed")
work(temporary, argument)
del temporary
print(freed, gc.garbage)
namespace = {}
exec("def short(): return 1\nshort()", namespace)
code = weakref.ref(namespace["short"].__code__)
namespace.clear()
print("code is gone:", code() is None)
