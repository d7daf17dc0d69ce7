# SPDX-License-Identifier: Apache-2.0
"""The line of every instruction of the standard library, as `kymo events` and as the interpreter has it."""
import json
import subprocess
import sysconfig
import types
from pathlib import Path

from conftest import KYMO, TIMEOUT, environment
from trace_builder import SHORT_INSTRUCTION, TraceBuilder, encode_record

MODULES = 250
ODD = """
def f(a,
      b = (lambda: 1)):



    return [x for x in
            a if x]; pass
""" + "\n" * 70000 + "async def g():\n  async with g() as h:\n    try: await h\n    except* ValueError: pass\n"


def codes_of(source, name):
    """Every code object of @source, the module's own first."""
    waiting = [compile(source, name, "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def modules():
    library = Path(sysconfig.get_path("stdlib"))
    paths = [path for path in sorted(library.rglob("*.py"))
             if not {"test", "tests", "idlelib", "site-packages", "dist-packages", "lib2to3"} & set(path.parts)]
    return paths[::max(1, len(paths) // MODULES)]


def lines_of(code):
    """Of each code unit, and of one behind the last."""
    lines = [None] * (len(code.co_code) // 2 + 1)
    for start, end, line in code.co_lines():
        lines[start // 2:end // 2] = [line] * ((end - start) // 2)
    return lines


def add_module(builder, seq, first_id, first_ordinal, codes):
    """Definitions of @codes, and an INSTRUCTION event of each unit of each; returns the next ordinal."""
    definitions, records, ordinal = [], [], first_ordinal
    for id, code in enumerate(codes, first_id):
        content = {"id": id, "file": code.co_filename, "qualname": code.co_qualname,
                   "first_line": code.co_firstlineno, "line_table": code.co_linetable}
        definitions += [("content", content), ("code", {"id": id, "content": id})]
        units = len(code.co_code) // 2 + 1
        records += [("CODE", id), (SHORT_INSTRUCTION, 0), encode_record(SHORT_INSTRUCTION, 1) * (units - 1)]
        ordinal += units
    builder.meta(1, *definitions)
    builder.chunk(*records, seq=seq, first_ordinal=first_ordinal, last_ordinal=ordinal - 1, open_clock=seq,
                  close_clock=seq)
    return ordinal


def test_every_line_is_the_interpreters_own(build, tmp_path):
    sources = [(path.read_bytes(), str(path)) for path in modules()] + [(ODD, "odd.py")]
    builder = TraceBuilder().meta(1, ("process", {"pid": 1, "folder": "1-1-a"}))
    everything, ordinal = [], 1
    for seq, (source, name) in enumerate(sources, 1):
        codes = [*codes_of(source, name)]
        ordinal = add_module(builder, seq, len(everything) + 1, ordinal, codes)
        everything += codes
    trace = tmp_path / "lines.kymo"
    trace.write_bytes(builder.close().data)
    with subprocess.Popen([KYMO, "events", "--jsonl", trace], env=environment(), stdout=subprocess.PIPE) as printing:
        for code in everything:
            events = [json.loads(next(printing.stdout)) for _ in lines_of(code)]
            assert {(event["file"], event["function"]) for event in events} == {(code.co_filename, code.co_qualname)}
            assert [event["offset"] for event in events] == [*range(0, 2 * len(events), 2)]
            assert [event["line"] for event in events] == lines_of(code), code
        assert not printing.stdout.read(1)
        assert printing.wait(TIMEOUT) == 0
    assert len(sources) > 200 and ordinal > 100_000
