# SPDX-License-Identifier: Apache-2.0
"""Exceptions: raised in Python and in C, handled, passed on, replaced, raised again, in finally and in loops."""
import sys


class Failure(Exception):
    pass


class Deeper(Failure):
    def __init__(self, *args):
        super().__init__(*args)
        self.depth = len(args)


def fail(kind=Failure):
    raise kind("x")


def pass_on():
    try:
        fail(Deeper)
    except Failure:
        raise


def replace():
    try:
        fail()
    except Failure as error:
        raise KeyError("y") from error


def suppress():
    try:
        {}["missing"]
    except KeyError:
        try:
            int("no number")
        except ValueError:
            return "suppressed"


def finally_returns():
    try:
        fail()
    finally:
        return 1


def finally_runs(result):
    try:
        if result:
            return result
        fail()
    finally:
        result = None


def else_and_finally(works):
    try:
        1 / works
    except ZeroDivisionError:
        return "except"
    else:
        return "else"
    finally:
        sys.intern("finally")


def in_loop():
    found = 0
    for n in range(6):
        try:
            if n == 4:
                break
            if n % 2:
                continue
            fail()
        except Failure:
            found += 1
        finally:
            found += 10
    return found


def wrong_handler():
    try:
        fail(Deeper)
    except (KeyError, ValueError):
        return "never"


def unbound():
    del missing
    missing = 1


def recursion(n):
    if not n:
        fail()
    try:
        recursion(n - 1)
    except KeyError:
        print("never")


def raise_in_handler_of_handler():
    try:
        try:
            try:
                fail()
            except Failure:
                raise ValueError
        except ValueError:
            raise TypeError
    except TypeError as error:
        return error.__context__


def reraise_later():
    try:
        fail()
    except Failure as error:
        kept = error
    try:
        raise kept.with_traceback(None)
    except Failure:
        return "again"


def caught(function, *args):
    try:
        return function(*args)
    except BaseException as error:
        depth = 0
        traceback = error.__traceback__
        while traceback:
            traceback = traceback.tb_next
            depth += 1
        return type(error).__name__, depth


for case in (fail, pass_on, replace, suppress, finally_returns, in_loop, wrong_handler, unbound, reraise_later):
    print(case.__name__, caught(case))
print(caught(finally_runs, 5), caught(finally_runs, 0), caught(recursion, 6))
print(else_and_finally(1), else_and_finally(0), type(raise_in_handler_of_handler()))
print(caught(lambda: [].pop()), caught(next, iter(())), caught(sys.exit, 3), caught(getattr, 1, "nothing"))
assert caught(lambda: (_ for _ in ()).throw(OSError)) == ("OSError", 3)
