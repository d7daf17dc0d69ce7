# SPDX-License-Identifier: Apache-2.0
"""The owner of code: pytest and its plugins, libraries, or the project."""

import os
import sys
from pathlib import Path

import _pytest
import pluggy

from kymo import _kymo

# Parts of pytest that tests call.  They are recorded, so that what they call can be distinguished from what tests call.
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

    def __call__(self, file):
        """"tool", "library" or "user": that of the project.  Code that is in no file is made by libraries."""
        owner = self._known.get(file)
        if owner is None:
            file = str(file)
            owner = "tool" if file.startswith(self._tools) else "user" if _kymo.is_project_file(file) else "library"
            self._known[file] = owner
        return owner
