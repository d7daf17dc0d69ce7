# SPDX-License-Identifier: Apache-2.0
"""`kymo export --format=parquet` and `--format=arrow`: the events of a trace as a file, by pyarrow."""

import contextlib
import sys
from importlib import import_module

from kymo import Error
from kymo._options import Options
from kymo._output import output_file
from kymo.arrow import Table

FAILURE = 1
GROUP_ROWS = 1 << 20  # of Parquet: rows that are held in memory, and that readers skip at once


def main(argv: list[str], version: str = "") -> int:
    """@argv: the verb and its words.  Returns the exit status."""
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    options = Options(argv[0], argv[1:])
    if options.flag("min-duration"):
        options.error(f"--min-duration chooses calls, and {options.word('format')} has events, which have no duration; "
                      "choose among calls by a query")
    try:
        table = Table(options.operands[0], kinds=options.all("kind") or None, process=options.number("process"),
                      thread_named=options.word("thread"), start_ns=options.number("from"), end_ns=options.number("to"),
                      function=options.word("function"), test=options.word("test"))  # fmt: skip
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
        raise _Missing(f"cannot write this format: it needs pyarrow, and {sys.executable} cannot import it ({error}); "
                       f"`{sys.executable} -m pip install pyarrow`, or name another Python with --python=PROGRAM") from error


def _write(table: Table, options: Options) -> None:
    pyarrow, parquet = _pyarrow()
    reader = pyarrow.RecordBatchReader.from_stream(table)
    with _output(options) as file:
        if options.word("format") == "arrow":
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
def _output(options: Options):
    """A file that appears when it is complete."""
    output = options.word("output") or "-"
    if output == "-":
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    try:
        with output_file(output, options.flag("force")) as file:
            yield file
    except FileExistsError:
        raise FileExistsError(17, "already exists; use -f to replace it", output) from None
