# SPDX-License-Identifier: Apache-2.0
"""Runs a command that, with all it starts, is not permitted to open a pidfd, as in older sandboxes."""
import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
PIDFD_OPEN, EPERM = 434, 1
# Load the number of the system call; if it is pidfd_open, fail with EPERM; else allow.
program = b"".join(struct.pack("<HBBI", *each) for each in (
    (0x20, 0, 0, 0), (0x15, 0, 1, PIDFD_OPEN), (0x06, 0, 0, 0x00050000 | EPERM), (0x06, 0, 0, 0x7FFF0000)))
code = ctypes.create_string_buffer(program, len(program))


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Filter(4, ctypes.addressof(code))), 0, 0):
    sys.exit(77)
try:
    os.pidfd_open(os.getpid())
except PermissionError:
    os.execvp(sys.argv[1], sys.argv[1:])
sys.exit(77)
