# SPDX-License-Identifier: Apache-2.0
"""`kymo export --format=parquet` and `--format=arrow`: the events of a trace as a file, by pyarrow."""

import argparse
import contextlib
import re
import sys
from importlib import import_module
from typing import NoReturn

from kymo import Error
from kymo._output import output_file
from kymo.arrow import Table

FAILURE, USAGE = 1, 2
GROUP_ROWS = 1 << 20  # of Parquet: what is held in memory, and what readers skip at once
UNITS = {"": 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}\n")


def _time(text: str) -> int:
    found = re.fullmatch(r"([-+]?(?:\d+\.?\d*|\.\d+))(s|ms|us|ns|)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write 1.5, 12ms, 30us or 5ns")
    return int(float(found[1]) * UNITS[found[2]])


def _parser() -> _Parser:
    """The native program has the help, and has taken --python out."""
    parser = _Parser("kymo export", allow_abbrev=False, add_help=False)
    parser.add_argument("trace", metavar="TRACE")
    parser.add_argument("--format", choices=("arrow", "parquet"), required=True)
    parser.add_argument("-o", "--output", default="-")
    parser.add_argument("-f", "--force", action="store_true")
    parser.add_argument("--from", type=_time, dest="start_ns")
    parser.add_argument("--to", type=_time, dest="end_ns")
    parser.add_argument("--process", type=int)
    parser.add_argument("--thread", dest="thread_named")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--function")
    parser.add_argument("--test")
    parser.add_argument("--min-duration")
    return parser


def main(argv: list[str], version: str = "") -> int:
    """@argv: the verb and its words.  Returns the exit status."""
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    parser = _parser()
    options = parser.parse_args(argv[1:])
    if options.min_duration is not None:
        parser.error(f"--min-duration chooses calls, and {options.format} has events, which have no duration: "
                     "choose among calls by a query")
    if options.output == "-" and sys.stdout.isatty():
        parser.error(f"{options.format} is nothing for a terminal; -o names a file")
    try:
        table = Table(options.trace, kinds=options.kind, process=options.process, thread_named=options.thread_named,
                      start_ns=options.start_ns, end_ns=options.end_ns, function=options.function,
                      test=options.test)  # fmt: skip
        _write(table, options)
    except (Error, OSError) as error:
        if not isinstance(error, BrokenPipeError):
            print(f"kymo: {error.filename}: {error.strerror}" if error.filename else f"kymo: {error.strerror or error}", file=sys.stderr)
        return FAILURE
    except _Missing as error:
        print(f"kymo: {error}", file=sys.stderr)
        return FAILURE
    return 0


class _Missing(Exception):
    pass


def _pyarrow():
    """The native program starts Python without its site-packages."""
    import site

    site.main()
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise _Missing(f"this needs pyarrow, and {sys.executable} cannot import it ({error}): "
                       f"`{sys.executable} -m pip install pyarrow`, or name another Python by --python") from error


def _write(table: Table, options: argparse.Namespace) -> None:
    pyarrow, parquet = _pyarrow()
    reader = pyarrow.RecordBatchReader.from_stream(table)
    with _output(options) as file:
        if options.format == "arrow":
            with pyarrow.ipc.new_file(file, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
            return
        with parquet.ParquetWriter(file, reader.schema) as writer:
            batches, rows = [], 0
            for batch in reader:
                batches.append(batch)
                rows += batch.num_rows
                if rows >= GROUP_ROWS:
                    writer.write_table(pyarrow.Table.from_batches(batches))
                    batches, rows = [], 0
            if batches:
                writer.write_table(pyarrow.Table.from_batches(batches))


@contextlib.contextmanager
def _output(options: argparse.Namespace):
    """A file that is there when all of it is."""
    if options.output == "-":
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    try:
        with output_file(options.output, options.force) as file:
            yield file
    except FileExistsError:
        raise FileExistsError(17, "exists already; -f replaces it", options.output) from None
