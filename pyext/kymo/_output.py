# SPDX-License-Identifier: Apache-2.0
"""Files that verbs write: whole or not at all, and readable by their user only.

A trace holds source, values and names of a program, and its file is readable by its user only; what is
made from it may hold the same, so it is, too.  Reports without them may be readable by all.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import BinaryIO

PRIVATE = 0o600
SHARED = 0o666  # less the umask


@contextlib.contextmanager
def output_file(path: str, replace: bool = True, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """A file for bytes that is at @path once all of it is written.

    Devices and pipes are written in place, and so is /dev/stdout, whatever it is.
    FileExistsError: there is a file, and not @replace.
    """
    if path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path)):
        with open(path, "wb") as file:
            yield file
        return
    with new_name(path, replace) as name:
        with open(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file


@contextlib.contextmanager
def new_name(path: str, replace: bool) -> Iterator[str]:
    """A name beside @path for a file that is renamed to @path if the body succeeds.

    If @path is a link, its target is replaced.
    """
    final = os.path.realpath(path) if replace else path
    name = f"{final}.incomplete-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        yield name
        # Another process may have made the file meanwhile: a link does not replace it.
        os.replace(name, final) if replace else os.link(name, final)
    except OSError as error:
        if error.filename == name:  # a temporary name that means nothing to the user
            error.filename, error.filename2 = path, None
        raise
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
