# SPDX-License-Identifier: Apache-2.0
"""The file that `kymo combine` writes: counts of runs without the runs, a SQLite database.

docs/guide/coverage.md describes the tables.
"""

import contextlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator

from kymo._output import PRIVATE, new_name
from kymo.coverage.errors import CoverageError
from kymo.coverage.model import Branch, Counts, FileCounts

_APPLICATION = 0x4B796D43  # "KymC"
_VERSION = 1
_MOST_SOURCE = 64 << 20  # bytes of one file
_SCHEMA = """
CREATE TABLE facts (
    hits_counted integer NOT NULL, has_branches integer NOT NULL, undefined integer NOT NULL,
    kymo_version text NOT NULL);
CREATE TABLE context (id integer PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE source (id integer PRIMARY KEY, zlib blob NOT NULL);
CREATE TABLE file (
    id integer PRIMARY KEY, name text NOT NULL, major integer NOT NULL, minor integer NOT NULL,
    source integer REFERENCES source, is_verified integer NOT NULL, is_incomplete integer NOT NULL);
CREATE TABLE line (
    file integer NOT NULL REFERENCES file, line integer NOT NULL, hits integer NOT NULL,
    PRIMARY KEY (file, line)) WITHOUT ROWID;
CREATE TABLE branch (
    id integer PRIMARY KEY, file integer NOT NULL REFERENCES file, line integer NOT NULL, first_line integer NOT NULL,
    trail text NOT NULL, is_exit integer NOT NULL, hits integer NOT NULL);
CREATE TABLE function (
    file integer NOT NULL REFERENCES file, name text NOT NULL, first_line integer NOT NULL, calls integer NOT NULL);
CREATE TABLE context_line (
    context integer NOT NULL REFERENCES context, file integer NOT NULL REFERENCES file, line integer NOT NULL,
    PRIMARY KEY (context, file, line)) WITHOUT ROWID;
CREATE TABLE context_branch (
    context integer NOT NULL REFERENCES context, branch integer NOT NULL REFERENCES branch,
    PRIMARY KEY (context, branch)) WITHOUT ROWID;
"""


def write(counts: Counts, path: str, version: str, replace: bool) -> None:
    """The file is there when it is complete.  @version: of Kymo."""
    with new_database(path, replace, PRIVATE) as database:
        database.executescript(f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION}; {_SCHEMA}")
        _fill(database, counts, version)


@contextlib.contextmanager
def new_database(path: str, replace: bool, mode: int) -> Iterator[sqlite3.Connection]:
    """A database that appears at @path if the body succeeds, and not before."""
    with new_name(path, replace) as temporary:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        try:
            with contextlib.closing(sqlite3.connect(temporary)) as database, database:
                yield database
        except sqlite3.Error as error:
            raise CoverageError(f"cannot write {path}: {error}") from None


def _fill(database: sqlite3.Connection, counts: Counts, version: str) -> None:
    def insert(table: str, rows: Iterable[tuple]) -> None:
        rows = list(rows)
        if rows:
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)

    sources: dict[bytes, int] = {}
    branch_count = 0
    insert("facts", [(int(counts.are_hits_counted), int(counts.has_branches), counts.undefined, version)])
    insert("context", enumerate(counts.contexts))
    for number, file in enumerate(counts.files):
        if file.source is not None and file.source not in sources:
            sources[file.source] = len(sources)
            insert("source", [(sources[file.source], zlib.compress(file.source))])
        source = None if file.source is None else sources[file.source]
        insert("file", [(number, file.file, *file.version, source, int(file.is_verified), int(file.is_incomplete))])
        insert("line", ((number, line, hits) for line, hits in sorted(file.lines.items())))
        insert("function", ((number, name, line, calls) for (name, line), calls in sorted(file.functions.items())))
        ids = {branch: branch_count + i for i, branch in enumerate(sorted(file.branches))}
        branch_count += len(ids)
        insert(
            "branch",
            (
                (i, number, b.line, b.first_line, " ".join(map(str, b.trail)), int(b.is_exit), file.branches[b])
                for b, i in ids.items()
            ),
        )
        insert(
            "context_line",
            ((context, number, line) for context, lines in file.context_lines.items() for line in sorted(lines)),
        )
        insert(
            "context_branch",
            ((context, ids[b]) for context, them in file.context_branches.items() for b in them if b in ids),
        )


def read(path: str) -> Counts:
    """CoverageError: it is not such a file, of another version, or damaged."""
    database = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True)
    try:
        database.execute("PRAGMA trusted_schema = OFF")
        application = database.execute("PRAGMA application_id").fetchone()[0]
        if application != _APPLICATION:
            raise CoverageError(f"{path} is neither a trace nor a file made by kymo combine")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise CoverageError(f"{path} has version {version} of the format; this Kymo reads version {_VERSION}")
        (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise ValueError(state)
        return _read(database)
    except (sqlite3.Error, zlib.error, LookupError, TypeError, ValueError, OverflowError) as error:
        raise CoverageError(f"{path} is damaged: {' '.join(str(error).split())}") from None
    finally:
        database.close()


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(os.path.abspath(path))


def _read(database: sqlite3.Connection) -> Counts:
    hits_counted, has_branches, undefined = database.execute(
        "SELECT hits_counted, has_branches, undefined FROM facts"
    ).fetchone()
    names = dict(database.execute("SELECT id, name FROM context ORDER BY id"))
    if list(names) != list(range(len(names))) or names.get(0) != "":
        raise ValueError("its contexts are not numbered")
    sources = {number: _unpack(packed) for number, packed in database.execute("SELECT id, zlib FROM source")}
    files: dict[int, FileCounts] = {}
    for number, name, major, minor, source, is_verified, is_incomplete in database.execute(
        "SELECT * FROM file ORDER BY id"
    ):
        text = None if source is None else sources[source]
        files[number] = FileCounts(str(name), (int(major), int(minor)), text, bool(is_verified), bool(is_incomplete))
    for number, line, hits in database.execute("SELECT * FROM line"):
        files[number].lines[_count(line)] = _count(hits)
    for number, name, line, calls in database.execute("SELECT * FROM function"):
        files[number].functions[str(name), _count(line)] = _count(calls)
    branches: dict[int, tuple[int, Branch]] = {}
    for identity, number, line, first_line, trail, is_exit, hits in database.execute("SELECT * FROM branch"):
        branch = Branch(_count(line), _count(first_line), tuple(map(int, trail.split())), bool(is_exit))
        branches[identity] = number, branch
        files[number].branches[branch] = _count(hits)
    for context, number, line in database.execute("SELECT * FROM context_line"):
        files[number].context_lines.setdefault(_known(context, names), set()).add(_count(line))
    for context, identity in database.execute("SELECT * FROM context_branch"):
        number, branch = branches[identity]
        files[number].context_branches.setdefault(_known(context, names), set()).add(branch)
    return Counts(
        list(files.values()),
        [str(name) for name in names.values()],
        bool(hits_counted),
        bool(has_branches),
        _count(undefined),
    )


def _unpack(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(packed, _MOST_SOURCE)
    if not unpacker.eof:
        raise ValueError("a source is cut or too long")
    return text


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"not a count: {value!r}")
    return value


def _known(context: int, names: dict[int, str]) -> int:
    if context not in names:
        raise ValueError(f"unknown context {context!r}")
    return context
