# SPDX-License-Identifier: Apache-2.0
"""What programs that start processes share: each says who it is, in a file that FAMILY names."""
import os


def present(what):
    """A line "pid what" in the file, and an event of its own in the trace."""
    fd = os.open(os.environ["FAMILY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, f"{os.getpid()} {what}\n".encode())
    os.close(fd)


def wait_when_seen(pid):
    """Wait for child @pid after the reader has taken all it had: its folder in the session goes then."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    while f"{pid}-" in " ".join(os.listdir(os.environ["KYMO_SESSION"])):
        os.sched_yield()
    os.waitpid(pid, 0)
