# SPDX-License-Identifier: Apache-2.0
"""The plugin's settings: on the command line, in pytest's file, in [tool.kymo.pytest] of pyproject.toml."""

from pathlib import Path
from typing import NamedTuple

import pytest

from kymo.pytest_plugin import MODES, VALUES

_NAMES = ("mode", "dir", "last", "diff", "baseline", "runner", "values")


class Settings(NamedTuple):
    mode: str
    dir: Path  # absolute, as all paths here
    last: int  # lines of each thread
    diff: bool
    baseline: Path | None
    runner: bool  # pytest and its plugins are recorded, too
    values: str | None  # None: what the options of recordings say

    @property
    def is_on(self):
        return self.mode != "off"

    @property
    def retains(self):
        """Only what failed is kept."""
        return self.mode.startswith("retain")

    @property
    def saves_baseline(self):
        return self.baseline is not None and self.mode == "on"

    @property
    def folder(self):
        """Where the traces go."""
        return self.baseline if self.saves_baseline else self.dir


def _read_table(file):
    if not file.is_file() or b"tool.kymo" not in (text := file.read_bytes()):
        return {}
    import tomllib

    try:
        table = tomllib.loads(text.decode()).get("tool", {}).get("kymo", {}).get("pytest", {})
    except ValueError as error:
        raise pytest.UsageError(f"{file}: {error}") from None
    for name in table:
        if name not in _NAMES:
            raise pytest.UsageError(f"{file}: [tool.kymo.pytest] {name}: unknown option")
    return table


def read(config):
    """Raises UsageError for an invalid setting."""
    table = _read_table(config.rootpath / "pyproject.toml")

    def find(name, default):
        option = "kymo" if name == "mode" else f"kymo_{name}"
        for value, folder in ((getattr(config.option, option), config.invocation_params.dir),
                              (config.getini(option), config.rootpath), (table.get(name), config.rootpath)):
            if value not in (None, ""):
                return value, folder
        return default, config.rootpath

    mode, last = find("mode", "off")[0], find("last", 10)[0]
    if mode not in MODES:
        raise pytest.UsageError(f"kymo: unknown mode {mode!r}; use one of " + ", ".join(MODES))
    if not str(last).isdecimal():
        raise pytest.UsageError(f"kymo_last: not a number of lines: {last!r}")
    values = find("values", None)[0]
    if values not in (None, *VALUES):
        raise pytest.UsageError(f"kymo_values: unknown scope {values!r}; use one of " + ", ".join(VALUES))
    folder, base = find("dir", "kymo-traces")
    baseline, baseline_base = find("baseline", None)
    diff, runner = (bool(find(name, False)[0]) for name in ("diff", "runner"))
    return Settings(mode, base / folder, int(last), diff, baseline and baseline_base / baseline, runner, values)
