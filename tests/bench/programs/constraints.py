# SPDX-License-Identifier: Apache-2.0
"""Latin squares with holes, filled by constraint propagation and search; objects, sets, recursion."""

ROUNDS = 30
SIZE = 11


class Contradiction(Exception):
    pass


class Cell:
    def __init__(self, row, column):
        self.row = row
        self.column = column
        self.choices = set(range(SIZE))
        self.constraints = []

    @property
    def is_fixed(self):
        return len(self.choices) == 1

    @property
    def value(self):
        return next(iter(self.choices))

    def forbid(self, value, agenda):
        if value in self.choices:
            self.choices.discard(value)
            if not self.choices:
                raise Contradiction
            agenda.extend(self.constraints)

    def fix(self, value, agenda):
        for other in list(self.choices):
            if other != value:
                self.forbid(other, agenda)


class AllDifferent:
    def __init__(self, cells):
        self.cells = cells
        for cell in cells:
            cell.constraints.append(self)

    def propagate(self, agenda):
        for cell in self.cells:
            if cell.is_fixed:
                value = cell.value
                for other in self.cells:
                    if other is not cell:
                        other.forbid(value, agenda)
        for value in range(SIZE):
            places = [cell for cell in self.cells if value in cell.choices]
            if not places:
                raise Contradiction
            if len(places) == 1 and not places[0].is_fixed:
                places[0].fix(value, agenda)


class Square:
    def __init__(self):
        self.rows = [[Cell(r, c) for c in range(SIZE)] for r in range(SIZE)]
        self.cells = [cell for row in self.rows for cell in row]
        self.constraints = [AllDifferent(row) for row in self.rows]
        self.constraints += [AllDifferent(list(column)) for column in zip(*self.rows)]

    def settle(self, agenda):
        while agenda:
            agenda.pop().propagate(agenda)

    def solve(self):
        open_cells = [cell for cell in self.cells if not cell.is_fixed]
        if not open_cells:
            return True
        cell = min(open_cells, key=lambda cell: (len(cell.choices), cell.row, cell.column))
        for value in sorted(cell.choices):
            saved = [set(each.choices) for each in self.cells]
            try:
                agenda = []
                cell.fix(value, agenda)
                self.settle(agenda)
                if self.solve():
                    return True
            except Contradiction:
                pass
            for each, choices in zip(self.cells, saved):
                each.choices = choices
        return False


def puzzle(seed):
    """A square made by shuffling the rows and columns of the cyclic one, as (row, column, value) of its givens."""
    state = seed * 7919 + 17

    def random(below):
        nonlocal state
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        return (state >> 9) % below

    rows, columns = list(range(SIZE)), list(range(SIZE))
    for order in rows, columns:
        for i in range(SIZE - 1, 0, -1):
            j = random(i + 1)
            order[i], order[j] = order[j], order[i]
    for r in range(SIZE):
        for c in range(SIZE):
            if random(100) < 38:
                yield r, c, (rows[r] + columns[c]) % SIZE


def main(rounds):
    checksum = 0
    for seed in range(rounds):
        square = Square()
        agenda = []
        for row, column, value in puzzle(seed):
            square.rows[row][column].fix(value, agenda)
        square.settle(agenda)
        assert square.solve()
        for cell in square.cells:
            checksum = (checksum * 13 + cell.value) % 1000003
    return checksum
