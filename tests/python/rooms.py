# SPDX-License-Identifier: Apache-2.0
"""Small rooms: mounts and limits that only root can give, each for one command alone."""
import contextlib
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from conftest import environment

IS_ROOT = os.geteuid() == 0
# tools/debian_root.sh has seen to it that nothing gets out; the folder of a chroot cannot be asked again.
UNSHARE = ["unshare", "--mount", "--propagation", "unchanged" if "KYMO_IN_ROOT" in os.environ else "private"]


def _can(*words):
    return IS_ROOT and subprocess.run(words, capture_output=True).returncode == 0


needs_root = pytest.mark.skipif(not IS_ROOT, reason="needs root")
needs_mounts = pytest.mark.skipif(
    not _can(*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"), reason="needs root, and leave to mount")
needs_namespaces = pytest.mark.skipif(
    not _can("unshare", "--pid", "--fork", "true"), reason="needs root, and leave to make a pid namespace")


def in_mounts(mounts, words, **options):
    """Run @words where the shell commands @mounts have changed what is mounted; nobody else sees that."""
    script = f"set -e; {mounts}\nexec {shlex.join(map(str, words))}"
    options = {"capture_output": True, "text": True, "timeout": 300, "env": environment()} | options
    return subprocess.run([*UNSHARE, "sh", "-c", script], **options)


@contextlib.contextmanager
def memory_group(megabytes):
    """A control group below our own with a limit, of version 1 or 2; skips the test where none can be made."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers in ("", "memory"):
            folder = Path("/sys/fs/cgroup", controllers) / group.lstrip("/") / f"kymo-test-{os.getpid()}"
            limit = folder / ("memory.limit_in_bytes" if controllers else "memory.max")
            try:
                folder.mkdir()
            except OSError:
                continue
            try:
                if limit.exists():
                    limit.write_text(str(megabytes << 20))
                    yield folder
                    return
            finally:
                folder.rmdir()
    pytest.skip("no control group with a memory limit can be made")
