# SPDX-License-Identifier: Apache-2.0
"""Errors as a way of life: raised deep, caught high, re-raised, cleaned up after."""

ROUNDS = 400


class Bad(Exception):
    def __init__(self, what, depth):
        super().__init__(what)
        self.depth = depth


class Worse(Bad):
    pass


class Account:
    """A context manager that swallows one kind of error."""

    def __init__(self):
        self.entered = self.closed = self.swallowed = 0

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, kind, error, traceback):
        self.closed += 1
        if kind is Worse:
            self.swallowed += 1
            return True
        return False


def dig(depth, kind, seed):
    if depth == 0:
        raise kind(seed, depth)
    try:
        return dig(depth - 1, kind, seed) + 1
    except ZeroDivisionError:
        return 0
    finally:
        seed += depth


def number(text):
    try:
        return int(text)
    except ValueError:
        try:
            return int(float(text))
        except ValueError as error:
            raise Bad(text, 1) from error


def lookups(words, table):
    found = 0
    for word in words:
        try:
            found += table[word]
        except KeyError:
            table[word] = 1
        except TypeError:
            found -= 1
    return found


def take(items):
    items = iter(items)
    while True:
        try:
            yield next(items)
        except StopIteration:
            return


def closing(items):
    try:
        for item in items:
            yield item
    finally:
        items.clear()


def main(rounds):
    checksum = 0
    for seed in range(rounds):
        account = Account()
        for step in range(400):
            try:
                with account:
                    dig(4 + step % 5, Worse if step % 3 else Bad, step)
            except Bad as error:
                checksum += error.args[0]
            try:
                checksum += number(("12", "3.5", "four", "5e1")[step % 4])
            except Bad as error:
                checksum += error.depth
                try:
                    raise
                except Bad:
                    checksum += 1
        checksum += lookups([(w * seed) % 50 if w % 9 else [w] for w in range(2000)], {})
        checksum += sum(take(range(1500)))
        for item in closing(list(range(300))):
            if item == 250:
                break
        checksum = (checksum * 31 + account.swallowed * 7 + account.closed) % 1000003
    return checksum
