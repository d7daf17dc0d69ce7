# SPDX-License-Identifier: Apache-2.0
"""To whom code belongs: to pytest and its plugins, to the libraries of this Python, or to what is tested."""

import os
import sys
import sysconfig
from pathlib import Path

import _pytest
import pluggy

# Parts of pytest that tests call.  They are recorded: so what they call in turn can be told from what tests call.
_CALLED = {"assertion", "python_api.py", "raises.py", "recwarn.py"}


def _tools(config):
    """Files, and folders with a slash."""
    packages = [_pytest, pluggy, sys.modules.get("execnet")]
    found = [f"{Path(package.__file__).parent}/" for package in packages if package]
    for plugin, _ in config.pluginmanager.list_plugin_distinfo():
        file = getattr(plugin, "__file__", None)
        package = (getattr(plugin, "__package__", None) or "").partition(".")[0]
        is_whole = package.startswith("pytest_") or package in ("xdist", "kymo")
        found += [f"{Path(file).parent}/" if is_whole else file] if file else []
    return found


def machinery(config):
    """Globs of what runs around tests, and is not recorded: it would be most of what is."""
    pytest, *others = _tools(config)
    parts = [entry for entry in os.scandir(pytest) if entry.name not in _CALLED]
    files = [f"{entry.path}/" if entry.is_dir() else entry.path for entry in parts if entry.is_dir() or entry.name.endswith(".py")]
    return [f"{file}*" if file.endswith("/") else file for file in files + others]


class Owners:
    def __init__(self, config):
        self._tools, self._known = tuple(_tools(config)), {}
        paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
        # Code that is in no file is made by libraries.
        self._libraries = ("<", *(f"{path}/" for path in paths), f"{sys.prefix}/lib/", f"{sys.base_prefix}/lib/")

    def __call__(self, file):
        """"tool", "library" or "user"."""
        owner = self._known.get(file)
        if owner is None:
            is_tool, is_library = str(file).startswith(self._tools), str(file).startswith(self._libraries)
            owner = self._known[file] = "tool" if is_tool else "library" if is_library else "user"
        return owner
