# SPDX-License-Identifier: Apache-2.0
"""Write compile_commands.json as clang-tidy can take it, and print which of the named sources are in it.

    tidy_commands.py BUILD OUTPUT FILE…

CMake has one entry for each interpreter that the extension is built for, and options that only GCC knows.
"""

import json
import re
import sys
from pathlib import Path

build, output, *files = sys.argv[1:]
wanted = {str(Path(file).resolve()) for file in files}
commands = {}
for entry in json.loads(Path(build, "compile_commands.json").read_text()):
    entry["command"] = re.sub(r" -(mmem\w+-strategy=\S+|fno-canonical-system-headers|W(no-)?error\S*)", "", entry["command"])
    commands.setdefault(entry["file"], entry)
Path(output, "compile_commands.json").write_text(json.dumps(list(commands.values())))
print("\n".join(sorted(wanted & commands.keys())))
