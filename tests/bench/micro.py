# SPDX-License-Identifier: Apache-2.0
"""Loops that make one kind of event each, for counting the instructions that it takes."""


def empty():
    pass


def middle():
    empty()


def idle(rounds):
    return 0


def calls(rounds):
    for _ in range(rounds):
        empty()
    return rounds


def nested(rounds):
    for _ in range(rounds):
        middle()
    return rounds


def lines(rounds):
    number = rounds
    while number:
        number -= 1
    return rounds


def branches(rounds):
    even = 0
    for number in range(rounds):
        if number & 1:
            even += 1
    return even


def c_calls(rounds):
    for _ in range(rounds):
        abs(rounds)
    return rounds


def generator(rounds):
    return sum(number for number in range(rounds))


def deep():
    raise KeyError


def raising(rounds):
    for _ in range(rounds):
        try:
            deep()
        except KeyError:
            pass
    return rounds


def orders(rounds):
    total = 0
    for number in range(rounds):
        order = {"number": number, "name": f"order {number}", "items": [number, number + 1]}
        name = order["name"]
        if len(name) % 2:
            total += sum(order["items"])
    return total
