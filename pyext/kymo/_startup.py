# SPDX-License-Identifier: Apache-2.0
"""Record this interpreter from its start, if the environment asks for it.

Run by kymo.pth, or from Python 3.15 on by kymo.start, in every interpreter that Kymo is
installed for.
"""

import os
import sys

# In a virtual environment site reads its .pth files twice.
_tried = False


def _is_set(value):
    return value not in (None, "", "0")


def main():
    global _tried
    environ = os.environ
    wanted = _is_set(environ.get("KYMO"))
    if _tried or not (wanted or environ.get("KYMO_SESSION")):
        return
    _tried = True
    try:
        from kymo import _kymo

        children = _kymo.join()
        if children is None and wanted:
            from kymo._recording import begin

            children = begin()
        if not children:
            environ.pop("KYMO", None)
            environ.pop("KYMO_SESSION", None)
    except Exception as error:
        sys.stderr.write(f"kymo: this Python is not recorded: {error}\n")
