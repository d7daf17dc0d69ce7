# SPDX-License-Identifier: Apache-2.0
"""Starts children in several ways and prints what it learns of their ends, by waiting for whatever child there is."""
import os
import signal
import subprocess
import sys


def child(number):
    total = sum(range(number))
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 4:
        sys.exit(total % 200)
    if number == 5:
        os.abort()
    os._exit(number + total % 100)


def drain():
    ends = {}
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return ends
        ends[pid] = status


pids = {}
for number in range(6):
    pid = os.fork()
    if not pid:
        child(number)
    pids[pid] = f"fork {number}"
for number, code in enumerate(("pass", "import os; os._exit(7)", "raise KeyError", "import sys; sys.exit('text')")):
    started = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    pids[started.pid] = f"run {number}"
    started.returncode = 0
pids[os.posix_spawn("/bin/false", ["false"], os.environ)] = "spawn"
for pid, status in sorted(drain().items(), key=lambda end: pids.get(end[0], "stranger")):
    print(pids.get(pid, "stranger"), status)
print(subprocess.run([sys.executable, "-c", "import sys; sys.exit(9)"]).returncode, os.system("exit 4"))
