# SPDX-License-Identifier: Apache-2.0
"""Frames that are hard to tell apart: the same code at all depths, thrown into, deeper than what is kept of callers, left by
exceptions and entered by destructors; and loops whose ways differ little."""
import sys


def generate(n, other=None, how=0):
    """Runs others of its code by next(), throw() and close()."""
    for k in range(3):
        try:
            if n:
                yield from generate(n - 1)
            else:
                yield k
        except KeyError:
            if how & 1:
                yield "caught"
            else:
                continue
        if other is not None:
            try:
                if how & 2:
                    other.throw(KeyError)
                elif how & 4:
                    other.close()
                else:
                    next(other)
            except (StopIteration, KeyError, RuntimeError):
                pass
            if k % 2:
                x = k
            elif n:
                x = 0
            else:
                x = 1
            n += x % 2
    return n


def drain(generator, limit=50):
    for _ in range(limit):
        try:
            next(generator)
        except StopIteration:
            return


def generate_all():
    for n in range(4):
        for m in range(4):
            for how in range(8):
                other = generate(m, how=how & 1)
                for _ in range(how % 3):
                    next(other, None)
                drain(generate(n, other, how))


def fail(n, at):
    """Recursion that is left by an exception, some levels at a time."""
    if n == at:
        raise KeyError(n)
    if n == 0:
        return 0
    try:
        x = fail(n - 1, at)
    except KeyError:
        if n % 50 == 0 and n != at:
            raise
        if n % 7 == 0:
            return n
        raise
    if n % 2:
        x += 1
    return x


def fail_all():
    for n in (1, 127, 128, 129, 130, 300):
        for at in (-1, 0, n // 2, 3):
            try:
                fail(n, at)
            except KeyError:
                pass


def return_from(n):
    """Branches behind returns, deep down."""
    if n % 3:
        x = n
    elif n == 0:
        return 0
    else:
        x = 2
    total = 0
    for k in range(2 if n % 40 == 0 else 1):
        total += return_from(n - 1)
        if total % 2:
            total += k
    return total + x


class Deleted:
    def __init__(self, n, child=None):
        self.n, self.child = n, child

    def __del__(self):
        if self.n % 2:
            for _ in range(self.n):
                pass
        if self.n == 3:
            raise ValueError
        if self.n > 4:
            delete(self.n - 4)


def delete(n):
    a = Deleted(n, Deleted(n - 1))
    try:
        b = Deleted(n + 1)
        if n % 2:
            return [Deleted(k) for k in range(n)][-1].n
        elif n % 3 == 0:
            raise KeyError
        a = None
    except KeyError:
        b = a = None
    finally:
        a = Deleted(2)
    return a, b


class Context:
    def __init__(self, n):
        self.n = n

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return self.n % 3 == 0


async def tick(n):
    for k in range(n):
        try:
            yield k
        finally:
            if k == 1:
                await wait(0)


async def wait(n):
    if n % 2:
        async with Context(n):
            return await wait(n - 1)
    elif n:
        async for x in tick(n):
            if x == 2:
                break
            elif x == 5:
                continue
            await wait(n - 2)
    return 0


def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        pass


def loop(numbers):
    out = 0
    while True:
        for x in numbers:
            if x > 3:
                break
            while x:
                x -= 1
                if x == 2:
                    continue
                out += 1
            else:
                out += 2
                if out > 5:
                    continue
                out -= 1
        else:
            if out % 2 and out < 40:
                out += 1
                continue
            return out
        for y, z in zip(numbers, numbers):
            for w in (y, z):
                if w == 2:
                    break
            else:
                continue
            break
        numbers = numbers[:-1]


def retry(n):
    k = 0
    while True:
        try:
            k += 1
            if k < n:
                raise KeyError
            for z in range(k):
                if z == 3:
                    raise ValueError
            break
        except KeyError:
            continue
        except ValueError:
            if k > 6:
                return k
        finally:
            if k == 5:
                k += 1
    return k


def main():
    sys.unraisablehook = lambda _: None
    generate_all()
    fail_all()
    for n in (3, 127, 128, 129, 200):
        return_from(n)
    for n in range(6):
        delete(n)
    for n in range(7):
        drive(wait(n))
    for n in range(9):
        loop(list(range(n)))
        retry(n)


main()
