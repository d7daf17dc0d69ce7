# SPDX-License-Identifier: Apache-2.0
"""Grids: the game of life, a flood fill, distances by relaxation; few calls, lists, many branches."""

ROUNDS = 28
SIZE = 64


def seeded(seed):
    state = seed + 1
    grid = []
    for _ in range(SIZE):
        row = []
        for _ in range(SIZE):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            row.append(1 if state >> 12 & 3 == 0 else 0)
        grid.append(row)
    return grid


def step(grid):
    out = []
    for y in range(SIZE):
        above, here, below = grid[y - 1], grid[y], grid[(y + 1) % SIZE]
        row = []
        for x in range(SIZE):
            right = x + 1 if x + 1 < SIZE else 0
            around = (above[x - 1] + above[x] + above[right] + here[x - 1] + here[right]
                      + below[x - 1] + below[x] + below[right])
            if here[x]:
                row.append(1 if around == 2 or around == 3 else 0)
            elif around == 3:
                row.append(1)
            else:
                row.append(0)
        out.append(row)
    return out


def regions(grid):
    seen = [[False] * SIZE for _ in range(SIZE)]
    found = 0
    for y in range(SIZE):
        for x in range(SIZE):
            if seen[y][x] or grid[y][x]:
                continue
            found += 1
            stack = [(y, x)]
            seen[y][x] = True
            while stack:
                r, c = stack.pop()
                for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                    nr, nc = r + dr, c + dc
                    if 0 <= nr < SIZE and 0 <= nc < SIZE and not seen[nr][nc] and not grid[nr][nc]:
                        seen[nr][nc] = True
                        stack.append((nr, nc))
    return found


def distances(grid):
    far = SIZE * SIZE
    cost = [[0 if cell else far for cell in row] for row in grid]
    for _ in range(2):
        for y in range(SIZE):
            for x in range(SIZE):
                best = cost[y][x]
                if y and cost[y - 1][x] + 1 < best:
                    best = cost[y - 1][x] + 1
                if x and cost[y][x - 1] + 1 < best:
                    best = cost[y][x - 1] + 1
                cost[y][x] = best
        cost = [row[::-1] for row in cost[::-1]]
    return sum(map(sum, cost))


def main(rounds):
    checksum = 0
    for seed in range(rounds):
        grid = seeded(seed)
        for _ in range(24):
            grid = step(grid)
        for _ in range(3):
            grid = step(grid)
            checksum = (checksum * 31 + regions(grid) * 7 + distances(grid)) % 1000003
    return checksum
