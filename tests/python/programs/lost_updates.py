# SPDX-License-Identifier: Apache-2.0
"""Four threads add to one attribute as nobody should: read, then write.  Prints how much is there in the end.

No update is lost where CPython changes threads only where it always does.  usage: lost_updates.py STEPS READER.
READER is what happens to the reader of the session meanwhile: left, slow (stopped and continued again and again),
stopped, killed.
"""
import os
import signal
import sys
import threading

from family import reader_pid

STEPS, READER = int(sys.argv[1]), sys.argv[2]
sys.setswitchinterval(1e-5)


class Counter:
    n = 0


def add(counter, steps):
    for _ in range(steps):
        v = counter.n
        counter.n = v + 1


def send(reader, number):
    if reader:
        os.kill(reader, number)


def hinder(reader, threads):
    while any(thread.is_alive() for thread in threads):
        send(reader, signal.SIGSTOP)
        threads[0].join(0.002)
        send(reader, signal.SIGCONT)
        threads[0].join(0.0005)


reader = reader_pid()
counter = Counter()
threads = [threading.Thread(target=add, args=(counter, STEPS)) for _ in range(4)]
if READER in ("stopped", "killed"):
    send(reader, signal.SIGSTOP if READER == "stopped" else signal.SIGKILL)
for thread in threads:
    thread.start()
if READER == "slow":
    hinder(reader, threads)
for thread in threads:
    thread.join()
if READER == "stopped":
    send(reader, signal.SIGCONT)
print(counter.n)
