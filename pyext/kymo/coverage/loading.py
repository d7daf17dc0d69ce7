# SPDX-License-Identifier: Apache-2.0
"""Counts from the files on the command line: traces, and files of `kymo combine`."""

import errno
from collections.abc import Iterator

from kymo.coverage.merging import merge
from kymo.coverage.model import Counts

_SQLITE = b"SQLite format 3\0"


def load(paths: list[str], contexts: bool) -> Counts:
    """All together.  @contexts: they are needed, and files without them are refused."""
    databases = [path for path in paths if _is_database(path)]
    traces = [path for path in paths if path not in databases]
    parts = [_read_database(path) for path in databases]
    if traces:
        from kymo.coverage.counts import read

        parts.append(read(traces, contexts=contexts))
    return parts[0] if len(parts) == 1 else merge(parts)


def load_each(paths: list[str]) -> Iterator[Counts]:
    """One after another, with contexts for the files that have them."""
    for path in paths:
        yield _read_database(path) if _is_database(path) else _read_trace(path)


def _is_database(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _read_database(path: str) -> Counts:
    from kymo.coverage import counts_file

    return counts_file.read(path)


def _read_trace(path: str) -> Counts:
    from kymo._library import Error
    from kymo.coverage.counts import read

    try:
        return read([path], contexts=True)
    except Error as error:
        if error.errno != errno.ENOTSUP:
            raise
        return read([path])
