# SPDX-License-Identifier: Apache-2.0
"""Counts its lines and calls in a shared file, so that whoever kills it knows how far each thread had come.

usage: witness.py FILE THREADS ROUNDS.  FILE holds 64-bit numbers, three for each thread: native id, lines, calls.
"""
import mmap
import os
import sys
import threading

THREADS, ROUNDS = map(int, sys.argv[2:])
with open(sys.argv[1], "r+b") as file:
    shared = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
ids, lines, calls = shared[0::3], shared[1::3], shared[2::3]
ids[0] = os.getpid()


class Failure(Exception):
    pass


def leaf(me, n):
    calls[me] += 1; lines[me] += 1; return n & 3


def numbers(me, n):
    calls[me] += 1; lines[me] += 1
    for i in range(n):
        lines[me] += 1; yield i


def fail(me, n):
    calls[me] += 1; lines[me] += 1; raise Failure(n)


def recurse(me, n):
    calls[me] += 1; lines[me] += 1; return recurse(me, n - 1) if n else leaf(me, n)


def work(me):
    for n in range(ROUNDS):
        lines[me] += 1; leaf(me, n)
        lines[me] += 1; sum(numbers(me, n % 4))
        lines[me] += 1; recurse(me, n % 5)
        try:
            lines[me] += 1; fail(me, n)
        except Failure:
            lines[me] += 1
        if n % 3:
            lines[me] += 1


def introduce_and_work(me):
    ids[me] = threading.get_native_id()
    work(me)


workers = [threading.Thread(target=introduce_and_work, args=(me,)) for me in range(1, THREADS)]
for worker in workers:
    worker.start()
work(0)
for worker in workers:
    worker.join()
sys.stdin.read()
