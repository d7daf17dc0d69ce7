# SPDX-License-Identifier: Apache-2.0
"""All programs of the folder oracle, one after the other."""
import pathlib

folder = pathlib.Path(__file__).parent / "oracle"
for path in sorted(folder.glob("*.py")):
    exec(compile(path.read_text(), path, "exec"), {"__name__": path.stem, "__file__": str(path)})
