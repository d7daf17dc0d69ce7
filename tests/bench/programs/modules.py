# SPDX-License-Identifier: Apache-2.0
"""Most of the standard library, imported: some ten thousand code objects that run once or twice."""
import importlib
import pkgutil
import sys

ROUNDS = 1
PACKAGES = """
asyncio collections concurrent.futures ctypes curses dbm email encodings html http importlib importlib.metadata
importlib.resources json logging multiprocessing pathlib pydoc_data re sqlite3 sysconfig tomllib unittest urllib
wsgiref xml.dom xml.etree xml.parsers xml.sax xmlrpc zipfile zoneinfo
""".split()
# They print, open a browser or a window, need another system, warn, or run.
NOT_THESE = {"antigravity", "this", "idlelib", "turtledemo", "test", "lib2to3", "ensurepip", "nturl2path", "sre_compile",
             "sre_constants", "sre_parse", "asyncio.windows_utils", "asyncio.windows_events", "encodings.mbcs", "encodings.oem",
             "encodings.cp65001", "multiprocessing.popen_spawn_win32"}

# What tools of coverage import themselves is imported before main(), so that this does the same work under each.
for _tool in "coverage", "slipcover":
    try:
        importlib.import_module(_tool)
    except ImportError:
        pass


def names():
    yield from sorted(sys.stdlib_module_names)
    for package in PACKAGES:
        folders = importlib.import_module(package).__path__ if importlib.util.find_spec(package) else []
        for module in sorted(pkgutil.iter_modules(folders), key=lambda module: module.name):
            yield f"{package}.{module.name}"


def main(rounds):
    import importlib.util

    imported = 0
    for name in names():
        if name in NOT_THESE or name.endswith("__main__"):
            continue
        try:
            importlib.import_module(name)
            imported += 1
        except ImportError:
            pass  # left out of this interpreter
    return imported
