# SPDX-License-Identifier: Apache-2.0
"""Generators: sending, throwing, closing, delegating, and those that nobody finishes."""


def count(limit):
    n = 0
    while n < limit:
        got = yield n
        n += got or 1
    return n


def delegate(limit):
    total = 0
    for _ in range(2):
        total += yield from count(limit)
    return total


def guarded():
    try:
        while True:
            try:
                yield "ready"
            except KeyError as error:
                yield f"caught {error}"
    finally:
        print("guarded: finally")


def closes():
    try:
        yield 1
    except GeneratorExit:
        return


def refuses_to_close():
    try:
        yield 1
    except GeneratorExit:
        yield 2


def drain(generator):
    try:
        while True:
            next(generator)
    except StopIteration as stop:
        return stop.value


def send_all(generator, values):
    next(generator)
    sent = []
    for value in values:
        try:
            sent.append(generator.send(value))
        except StopIteration as stop:
            sent.append(("end", stop.value))
    return sent


def tree(depth):
    if depth:
        yield from tree(depth - 1)
        yield depth
        yield from tree(depth - 1)


def throw_into():
    generator = guarded()
    next(generator)
    print(generator.throw(KeyError("x")))
    next(generator)
    try:
        generator.throw(ValueError("y"))
    except ValueError as error:
        print("passed through:", error)


def throw_into_delegate():
    generator = delegate(10)
    next(generator)
    try:
        generator.throw(RuntimeError)
    except RuntimeError:
        print("through both")


def throw_before_start():
    generator = count(3)
    try:
        generator.throw(LookupError)
    except LookupError:
        print("never ran")


print(list(count(5)), drain(delegate(4)), send_all(count(9), [1, 3, None, 8, 1]))
print(list(tree(4)), sum(x * x for x in range(7) if x % 2))
throw_into()
throw_into_delegate()
throw_before_start()
for make in (closes, guarded, count):
    generator = make(1) if make is count else make()
    next(generator)
    generator.close()
generator = refuses_to_close()
next(generator)
try:
    generator.close()
except RuntimeError as error:
    print(error)
generator.close()
first, *rest = count(4)
print(first, rest, [*map(lambda x: x + 1, count(3))], any(x > 2 for x in count(9)))
