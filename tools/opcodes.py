# SPDX-License-Identifier: Apache-2.0
"""Write the table of instructions of the CPython that runs this: format/opcodes/cpython_3_XX.h.

    python3.13 tools/opcodes.py [FOLDER]

What the flow of control needs of an instruction: what kind of step it is, and how many cache units follow it.
The tables are checked in; a test holds the one of its interpreter against what is generated.
"""
import dis
import opcode
import sys
from pathlib import Path

KINDS = {
    "EXTENDED_ARG": "EXTENDED_ARG",
    "RESUME": "RESUME",
    "JUMP_FORWARD": "JUMP_FORWARD",
    "JUMP_BACKWARD": "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT": "JUMP_BACKWARD_NO_INTERRUPT",
    "POP_JUMP_IF_TRUE": "POP_JUMP",
    "POP_JUMP_IF_FALSE": "POP_JUMP",
    "POP_JUMP_IF_NONE": "POP_JUMP_NONE",
    "POP_JUMP_IF_NOT_NONE": "POP_JUMP_NONE",
    "FOR_ITER": "FOR_ITER",
    "SEND": "SEND",
    "YIELD_VALUE": "YIELD",
    "RETURN_VALUE": "RETURN",
    "RETURN_CONST": "RETURN",
    "RERAISE": "RERAISE",
    "RAISE_VARARGS": "RAISE",
    "END_FOR": "END_FOR",
    "END_SEND": "END_SEND",
    "END_ASYNC_FOR": "END_ASYNC_FOR",
    "POP_ITER": "POP_ITER",
    "NOT_TAKEN": "NOT_TAKEN",
    "CALL": "CALL",
}


def caches(name, number):
    entries = opcode._inline_cache_entries
    return entries.get(name, 0) if hasattr(entries, "get") else entries[number]


def table():
    version = "{}.{}".format(*sys.version_info)
    yield "// SPDX-License-Identifier: Apache-2.0"
    yield f"/* The instructions of CPython {version}, by tools/opcodes.py. */"
    for name, number in sorted(dis.opmap.items(), key=lambda item: item[1]):
        if number < 256 and (name in KINDS or caches(name, number)):
            yield f"[{number}] = {{KYMO_OP_{KINDS.get(name, 'OTHER')}, {caches(name, number)}}}, /* {name} */"


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parents[1] / "format" / "opcodes"
    path = folder / "cpython_{}_{}.h".format(*sys.version_info)
    path.write_text("\n".join(table()) + "\n")
