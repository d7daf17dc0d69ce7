# SPDX-License-Identifier: Apache-2.0
"""What recorded programs share: each process can say who it is, in a file that FAMILY names; and know its reader."""
import os
import struct


def present(what):
    """A line "pid what" in the file, and an event of its own in the trace."""
    fd = os.open(os.environ["FAMILY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, f"{os.getpid()} {what}\n".encode())
    os.close(fd)


def reader_pid():
    """Of the process that reads this recording, as format/chunk.h has it; 0 while nobody records."""
    session = os.environ.get("KYMO_SESSION")
    if not session:
        return 0
    with open(session + "/session", "rb") as file:
        return struct.unpack_from("<II", file.read(4096), 72)[1]


def wait_when_seen(pid):
    """Wait for child @pid after the reader has taken all it had: its folder in the session goes then."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    while f"{pid}-" in " ".join(os.listdir(os.environ["KYMO_SESSION"])):
        os.sched_yield()
    os.waitpid(pid, 0)
