# SPDX-License-Identifier: Apache-2.0
"""Greenlets that switch, throw and end in each other's middle."""
import greenlet


def ping(limit):
    got = 0
    for n in range(limit):
        got = partner.switch(got + n)
    return got


def pong(first):
    value = first
    while True:
        value = main.switch(value * 2) if value % 5 == 0 else ours.switch(value + 1)


def nested(depth):
    if depth:
        child = greenlet.greenlet(nested)
        return depth + child.switch(depth - 1)
    return greenlet.getcurrent().parent.dead


def generate():
    for n in range(3):
        yield main.switch(n) if n else n


def fails():
    try:
        main.switch("waiting")
    except KeyError:
        raise ValueError from None


main = greenlet.getcurrent()
ours, partner = greenlet.greenlet(ping), greenlet.greenlet(pong)
values = [ours.switch(6)]
while not ours.dead and len(values) < 20:
    values.append(ours.switch(values[-1]) if len(values) % 2 else partner.switch(len(values)))
print(values, nested(4))
lazy = greenlet.greenlet(lambda: list(generate()))
print([lazy.switch(), lazy.switch("a"), lazy.switch("b")])
failing = greenlet.greenlet(fails)
failing.switch()
try:
    failing.throw(KeyError)
except ValueError:
    print("failed", failing.dead)
