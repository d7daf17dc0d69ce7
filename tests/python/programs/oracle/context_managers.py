# SPDX-License-Identifier: Apache-2.0
"""with: managers in Python and in C, nested, that swallow, that fail at either end."""
import contextlib
import threading


class Manager:
    def __init__(self, name, swallows=False, fails=None):
        self.name, self.swallows, self.fails = name, swallows, fails

    def __enter__(self):
        if self.fails == "enter":
            raise OSError(self.name)
        return self

    def __exit__(self, kind, value, traceback):
        if self.fails == "exit":
            raise EOFError(self.name)
        return self.swallows


@contextlib.contextmanager
def managed(log):
    log.append("in")
    try:
        yield log
    except KeyError:
        log.append("swallowed")
    finally:
        log.append("out")


def use(*managers, error=None):
    with contextlib.ExitStack() as stack:
        for manager in managers:
            stack.enter_context(manager)
        if error:
            raise error
    return "done"


def nested(swallows):
    with Manager("a") as a, Manager("b", swallows) as b:
        raise LookupError(a.name + b.name)
    return "went on"


def leaves_early(n):
    for i in range(n):
        with Manager("loop"):
            if i == 1:
                continue
            if i == 3:
                return i
    return None


def attempt(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__


log = []
with managed(log):
    raise KeyError
print(log, attempt(nested, True), attempt(nested, False), leaves_early(2), leaves_early(9))
print(attempt(use, Manager("a"), Manager("b", fails="enter")))
print(attempt(use, Manager("a", True), Manager("b", fails="exit")))
print(attempt(use, Manager("a", True), error=ValueError), attempt(use, managed(log), error=OSError), log)
with threading.Lock(), contextlib.suppress(ZeroDivisionError), contextlib.nullcontext(3) as three:
    three / 0
