# SPDX-License-Identifier: Apache-2.0
"""Queens on a board three ways; generators, comprehensions, generator expressions, closures."""

ROUNDS = 28


def by_generators(size, placed=()):
    if len(placed) == size:
        yield placed
        return
    row = len(placed)
    for column in range(size):
        if all(column != c and abs(column - c) != row - r for r, c in enumerate(placed)):
            yield from by_generators(size, placed + (column,))


def by_comprehensions(size):
    boards = [()]
    for row in range(size):
        boards = [
            board + (column,)
            for board in boards
            for column in range(size)
            if not any(column == c or abs(column - c) == row - r for r, c in enumerate(board))
        ]
    return boards


def permutations(items):
    if not items:
        yield []
    for i, item in enumerate(items):
        for rest in permutations(items[:i] + items[i + 1:]):
            yield [item, *rest]


def by_permutations(size):
    for order in permutations(list(range(size))):
        if size == len({r + c for r, c in enumerate(order)}) == len({r - c for r, c in enumerate(order)}):
            yield tuple(order)


def main(rounds):
    checksum = 0
    for _ in range(rounds):
        for boards in by_generators(8), by_comprehensions(7), by_permutations(7):
            for board in boards:
                checksum = (checksum * 7 + sum(c << r for r, c in enumerate(board))) % 1000003
    return checksum
