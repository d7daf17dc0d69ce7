# SPDX-License-Identifier: Apache-2.0
"""Programs that Hypothesis writes: nested loops, try, with, match, generators, coroutines, comprehensions.  Each ends."""
import textwrap

from hypothesis import strategies as st


def indent(text):
    return textwrap.indent(text, "    ")


CONDITIONS = ["n % 2", "n > 3", "x is None", "not x", "n % 2 and x", "n % 3 or x", "any(y > n for y in (1, 5))",
              "(n if x else 0)", "call(n) if n % 2 else call(0)"]


def blocks(inner):
    """Statements made of others."""
    body = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    condition = st.sampled_from(CONDITIONS)
    return st.one_of(
        st.builds("if {}:\n{}\nelse:\n{}".format, condition, body.map(indent), body.map(indent)),
        st.builds("if {}:\n{}".format, condition, body.map(indent)),
        st.builds("for n in range(3):\n{}".format, body.map(indent)),
        st.builds("for n in produce(2):\n{}\nelse:\n{}".format, body.map(indent), body.map(indent)),
        st.builds("for n in range(4):\n{}\n    if {}: break\nelse: x = n".format, body.map(indent), condition),
        st.builds("while spend():\n{}".format, body.map(indent)),
        st.builds("while spend():\n{}\n    if {}: continue\n    x = n".format, body.map(indent), condition),
        st.builds("while (spend() or None) is not None:\n{}".format, body.map(indent)),
        st.builds("while True:\n    if not spend(): break\n{}".format, body.map(indent)),
        st.builds("try:\n{}\nexcept KeyError as error:\n{}".format, body.map(indent), body.map(indent)),
        st.builds("try:\n{}\nfinally:\n{}".format, body.map(indent), body.map(indent)),
        st.builds("try:\n{}\nexcept (KeyError, ValueError): x = None\nelse:\n{}".format, body.map(indent),
                  body.map(indent)),
        st.builds("with manage(n):\n{}".format, body.map(indent)),
        st.builds("match n:\n    case 0: x = 0\n    case 1 | 2:\n{}\n    case int() if x:\n{}\n    case _: pass".format,
                  body.map(lambda text: indent(indent(text))), body.map(lambda text: indent(indent(text)))),
    )


SIMPLE = st.sampled_from([
    "x = n", "n += 1", "x = call(n)", "x = [m for m in range(n % 4) if m % 2]", "x = sum(m for m in produce(2))",
    "x = {m: m for m in range(2)}", "x = (lambda q: q or n)(x)", "raise KeyError(n)", "raise ValueError",
    "try: raise KeyError\nexcept KeyError: pass", "return n", "del x; x = 1", "assert n > -1", "x = all(m < 3 for m in range(n % 5))",
    "x = a.b.c if n else None", "yield_from_nothing()", "n = call(1) + call(n)",
    # what fast paths call, on lines that begin in the middle of an expression
    "x = Item(n)[\nn % 5]", "x = (call(n) and Item()[\nItem()])", "x = (n % 2 and Item(\nn).here)", "x = Item(\nn)",
    "x = call(\nItem(1)[\nn % 5].n\n)", "with manage(n), manage(1): x = Item(\nn)[\n3]", "x = [\nItem(m)[m] for m in range(n % 5)]",
    "with manage(n) as x: x = (\nItem(4)\n[x].here)", "x = (\nItem(n) + n\n).n", "x = Item(*\n[n])",
])
STATEMENTS = st.recursive(SIMPLE, blocks, max_leaves=12)
KINDS = {
    "plain": ("def {}(n, x):\n{}\n", "call_safely({}, 3, None); call_safely({}, 0, 1)"),
    "generator": ("def {}(n, x):\n    yield n\n{}\n    x = yield x\n", "drain({}(2, None)); drain({}(1, 1))"),
    # so many instructions that not every line fits into the interpreter's tables
    "long": ("def {}(n, x):\n    with manage(1), manage(n): Item(n)\n{}\n    if n < 0:\n" + 160 * "        x = call(n) + call(x)\n" +
             "    with manage(n): x = Item(n)\n    return x\n", "call_safely({}, 4, None); call_safely({}, 0, 1)"),
    "coroutine": ("async def {}(n, x):\n    await pause()\n{}\n    async for n in ticks(): await pause()\n",
                  "drive({}(2, None)); drive({}(1, 1))"),
}
FRAME = """
import contextlib, gc
gc.disable() # when it runs depends on what watches
budget = 0
class Thing: pass
a = Thing(); a.b = Thing(); a.b.c = 1
def call(n): return n * 2 if n > 1 else n
class Item:
    def __init__(self, n=0):
        self.n = n
        if n % 7 == 4: raise KeyError(n)
    def __getitem__(self, i):
        if i == 3: raise ValueError(i)
        return self
    def __add__(self, n):
        if n == 2: raise KeyError(n)
        return self
    @property
    def here(self):
        if self.n == 1: raise KeyError(1)
        return self
def produce(limit):
    for m in range(limit): yield m
def spend():
    global budget
    budget += 1
    return budget < 150 and budget % 4
def yield_from_nothing():
    for _ in iter(()): pass
@contextlib.contextmanager
def manage(n):
    try: yield n
    except KeyError:
        if n % 2: raise
class Pause:
    def __await__(self):
        yield 1
def pause(): return Pause()
async def ticks():
    for m in range(2): yield m
def call_safely(function, *args):
    try: function(*args)
    except (KeyError, ValueError): pass
def drain(generator):
    try:
        for _ in generator: pass
    except (KeyError, ValueError): pass
def drive(coroutine):
    try:
        while True: coroutine.send(None)
    except (StopIteration, KeyError, ValueError): pass
"""


DESTRUCTOR = "    def __del__(self): x = 1\n"


@st.composite
def programs(draw, has_destructors=False):
    """When a destructor runs depends on who holds references, as tools do that read variables."""
    functions = []
    for i in range(draw(st.integers(4, 8))):
        text, use = KINDS[draw(st.sampled_from(sorted(KINDS)))]
        body = "\n".join(draw(st.lists(STATEMENTS, min_size=1, max_size=4)))
        if "async" in text or "yield" in text.split("{}", 2)[-1]:
            body = body.replace("return n", "return")
        functions.append(text.format(f"f{i}", indent(body)) + use.format(f"f{i}", f"f{i}") + "\n")
    # What was left over would end with the interpreter, where no tool watches.
    frame = FRAME.replace("    def __getitem__", f"{DESTRUCTOR}    def __getitem__") if has_destructors else FRAME
    return frame + "\n".join(functions) + "\ngc.collect()\n"
