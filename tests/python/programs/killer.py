# SPDX-License-Identifier: Apache-2.0
"""Starts witness.py again and again and kills it when its counters have reached a number drawn at random.

usage: killer.py FOLDER SEED VICTIMS ROUNDS LINES.  LINES: that a thread counts in ROUNDS.  Each victim's counters
are left in FOLDER.
"""
import mmap
import os
import random
import subprocess
import sys

SEED = sys.argv[2]
VICTIMS, ROUNDS, LINES = map(int, sys.argv[3:])
WITNESS = os.path.join(os.path.dirname(__file__), "witness.py")


def kill_one(path, threads, limit):
    with open(path, "w+b") as file:
        file.truncate(8 * 3 * threads)
        counters = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
    victim = subprocess.Popen([sys.executable, WITNESS, path, str(threads), str(ROUNDS)], stdin=subprocess.DEVNULL)
    while victim.poll() is None and sum(counters[1::3]) < limit:
        os.sched_yield()
    victim.kill()
    victim.wait()


draw = random.Random(SEED)
for number in range(VICTIMS):
    threads = draw.choice((1, 4))
    kill_one(os.path.join(sys.argv[1], f"victim-{number}"), threads, draw.randrange(threads * LINES))
