# SPDX-License-Identifier: Apache-2.0
"""Counts of what the command line names: traces, and files of `kymo combine`."""

import errno
from collections.abc import Iterator

from kymo.coverage.merging import merge
from kymo.coverage.model import Counts

_SQLITE = b"SQLite format 3\0"


def load(paths: list[str], contexts: bool) -> Counts:
    """All together.  @contexts: those are needed, and what does not know them is refused."""
    databases = [path for path in paths if _is_database(path)]
    traces = [path for path in paths if path not in databases]
    parts = [_read_database(path) for path in databases]
    if traces:
        from kymo.coverage.counts import read

        parts.append(read(traces, contexts=contexts))
    return parts[0] if len(parts) == 1 else merge(parts)


def load_each(paths: list[str]) -> Iterator[Counts]:
    """One after another, with the contexts of those that know them."""
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
