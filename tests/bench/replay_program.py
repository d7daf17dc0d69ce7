# SPDX-License-Identifier: Apache-2.0
"""Eight threads that run the benchmark programs by turns: replay_program.py ROUNDS.  Each round is told by landmark()."""
import importlib
import sys
import threading

PROGRAMS = ["bunzip", "constraints", "exceptions", "library", "life", "machine", "queens", "raytrace", "scheduler", "tasks", "words"]


def landmark(number):
    return number


def work(number, rounds):
    for k in range(rounds):
        if not number:
            landmark(k)
        name = PROGRAMS[(number + k) % len(PROGRAMS)]
        if name == "tasks" and number:  # one event loop is enough
            name = "queens"
        sys.modules[f"programs.{name}"].main(1)


importlib.import_module("programs.imports").main(1)
for name in PROGRAMS:
    importlib.import_module(f"programs.{name}")
threads = [threading.Thread(target=work, args=(number, int(sys.argv[1])), name=f"worker-{number}") for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
