# SPDX-License-Identifier: Apache-2.0
"""Exception groups and except*."""


def group(*errors):
    raise ExceptionGroup("several", list(errors))


def split(*errors):
    handled = []
    try:
        group(*errors)
    except* ValueError as caught:
        handled.append(("values", len(caught.exceptions)))
    except* (KeyError, OSError) as caught:
        handled.append(("others", len(caught.exceptions)))
    else:
        handled.append("else")
    finally:
        handled.append("finally")
    return handled


def naked():
    try:
        raise KeyError("alone")
    except* KeyError as caught:
        return_value = type(caught).__name__
    return return_value


def raises_again(*errors):
    try:
        group(*errors)
    except* ValueError:
        raise
    except* KeyError as caught:
        raise RuntimeError from caught


def attempt(function, *args):
    try:
        return function(*args)
    except BaseExceptionGroup as error:
        return error.message, [type(e).__name__ for e in error.exceptions]


print(attempt(split, ValueError(1)), attempt(split, ValueError(1), KeyError(2), OSError(3)))
print(attempt(split, TypeError(1), ExceptionGroup("inner", [ValueError(2), TypeError(3)])), naked())
print(attempt(raises_again, ValueError(1), KeyError(2), TypeError(3)))
