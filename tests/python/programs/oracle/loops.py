# SPDX-License-Identifier: Apache-2.0
"""Loops and small computations: what most programs do most of the time."""


def sieve(limit):
    is_prime = [True] * limit
    for n in range(2, limit):
        if is_prime[n]:
            for multiple in range(n * n, limit, n):
                is_prime[multiple] = False
    return [n for n in range(2, limit) if is_prime[n]]


def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def bubble(items):
    for end in range(len(items) - 1, 0, -1):
        swapped = False
        for i in range(end):
            if items[i] > items[i + 1]:
                items[i], items[i + 1] = items[i + 1], items[i]
                swapped = True
        if not swapped:
            break
    return items


def one_line(n): return n + 1


def words(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def unpack(*pairs, **options):
    for i, (left, *_, right) in enumerate(pairs):
        if options.get("stop") == i:
            break
        yield left, right
    else:
        yield from options.items()


def until(iterator, end):
    while (value := next(iterator, None)) != end:
        yield value


def long_line(a):
    return [a, a + 1,
            a + 2, (a,
                    a + 3)
            ][a % 2 if a
              else 0]


print(sieve(60), collatz(27), bubble([5, 2, 9, 1, 5]), [one_line(n) for n in range(10)])
print(words("the cat the dog a cat the end"))
print(list(unpack((1, 2), (3, 4, 5), x=1)), list(unpack((1, 2), (3, 4), stop=1)))
print(list(until(iter("abcd"), "c")), long_line(0), long_line(1), [f"{a!r:>3}{b}" for a, b in zip("xy", (1, 2))])
for i in range(3):
    for j in range(3):
        if i == j:
            continue
        del j
        break
    else:
        print("never")
assert i == 2, "all done"
