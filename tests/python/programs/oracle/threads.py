# SPDX-License-Identifier: Apache-2.0
"""Threads whose own course does not depend on each other."""
import threading


class Failure(Exception):
    pass


def compute(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def fail(n):
    if n % 2:
        raise Failure(n)
    return n


def work(number):
    for n in range(60 * number):
        try:
            compute(n % 9)
            fail(n)
        except Failure as error:
            [x for x in error.args if x]
    sum(x for x in range(200))


threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
