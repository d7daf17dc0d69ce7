# SPDX-License-Identifier: Apache-2.0
"""exec, eval, compile, and code that is changed or made while it runs."""
import types

SOURCE = """
def made(n):
    total = 0
    for i in range(n):
        total += i
    return total

class Made:
    value = made(4)
result = [made(i) for i in range(3)]
"""


def run(source, **names):
    exec(compile(source, "programs/oracle/executed-text.py", "exec"), names)
    return names


def evaluate(expression, **names):
    return eval(compile(expression, "programs/oracle/executed-text.py", "eval"), names)


def original(a, b=2):
    return a + b


def other(a, b=2):
    return a * b


print(run(SOURCE)["result"], run(SOURCE)["Made"].value)
print(evaluate("[x for x in y if x > 1]", y=[1, 2, 3]), evaluate("(lambda q: q + 1)(4)"))
for i in range(5):
    run(f"value = {i}\nif value % 2:\n    value = -value\n")
print(original(3), end=" ")
original.__code__ = other.__code__
print(original(3), end=" ")
copied = types.FunctionType(other.__code__.replace(co_name="copied", co_qualname="copied"), globals(), argdefs=(5,))
print(copied(3))
try:
    run("x = 1\nraise KeyError(x)")
except KeyError as error:
    print("raised", error)
try:
    run("no python")
except SyntaxError as error:
    print(type(error).__name__)
