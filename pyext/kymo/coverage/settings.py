# SPDX-License-Identifier: Apache-2.0
"""coverage.py's settings, as far as they are about reports: .coveragerc, setup.cfg, tox.ini, pyproject.toml."""

import os
import re
from dataclasses import dataclass, field
from typing import Any

from kymo.coverage.errors import CoverageError

DEFAULT_EXCLUDE = [
    r"#\s*(?:pragma|PRAGMA)[:\s]?\s*(?:no|NO)\s*(?:cover|COVER)",
    # A body that is only `...`, behind its `def` or on a line of its own.
    r"^\s*(?:(?:(?:async )?def .*?)?[\])]+(?:\s*->.*?)?:\s*)?\.\.\.\s*(?:#|$)",
    r"^\s*if (?:typing\.)?TYPE_CHECKING:",
]
DEFAULT_PARTIAL = [r"#\s*(?:pragma|PRAGMA)[:\s]?\s*(?:no|NO)\s*(?:branch|BRANCH)"]
DEFAULT_PARTIAL_ALWAYS = [r"^\s*(?:while|if) (?:True|1|False|0):"]


@dataclass
class Settings:
    branch: bool = False
    source: list[str] = field(default_factory=list)
    source_pkgs: list[str] = field(default_factory=list)
    source_dirs: list[str] = field(default_factory=list)
    run_include: list[str] = field(default_factory=list)
    run_omit: list[str] = field(default_factory=list)
    relative_files: bool = False
    exclude_lines: list[str] = field(default_factory=lambda: list(DEFAULT_EXCLUDE))
    exclude_also: list[str] = field(default_factory=list)
    partial_branches: list[str] = field(default_factory=lambda: list(DEFAULT_PARTIAL))
    partial_branches_always: list[str] = field(default_factory=lambda: list(DEFAULT_PARTIAL_ALWAYS))
    partial_also: list[str] = field(default_factory=list)
    report_include: list[str] = field(default_factory=list)
    report_omit: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    fail_under: float = 0.0
    format: str = "text"
    ignore_errors: bool = False
    include_namespace_packages: bool = False
    precision: int = 0
    show_missing: bool = False
    skip_covered: bool = False
    skip_empty: bool = False
    sort: str = "name"
    html_directory: str = "htmlcov"
    html_title: str = "Coverage report"
    html_show_contexts: bool = False
    html_skip_covered: bool | None = None
    html_skip_empty: bool | None = None
    xml_output: str = ""
    xml_package_depth: int = 99
    json_output: str = ""
    json_pretty_print: bool = False
    json_show_contexts: bool = False
    lcov_output: str = ""
    lcov_line_checksums: bool = False
    paths: dict[str, list[str]] = field(default_factory=dict)

    @property
    def exclude(self) -> list[str]:
        return self.exclude_lines + self.exclude_also

    @property
    def partial(self) -> list[str]:
        return self.partial_branches + self.partial_also + self.partial_branches_always


# By section and option, the name of the setting and its type, without those that are only about recording.
_OPTIONS = {
    "run": {
        "branch": ("branch", bool),
        "source": ("source", list),
        "source_pkgs": ("source_pkgs", list),
        "source_dirs": ("source_dirs", list),
        "include": ("run_include", list),
        "omit": ("run_omit", list),
        "relative_files": ("relative_files", bool),
    },
    "report": {
        "exclude_lines": ("exclude_lines", re.Pattern),
        "exclude_also": ("exclude_also", re.Pattern),
        "partial_branches": ("partial_branches", re.Pattern),
        "partial_branches_always": ("partial_branches_always", re.Pattern),
        "partial_also": ("partial_also", re.Pattern),
        "include": ("report_include", list),
        "omit": ("report_omit", list),
        "contexts": ("contexts", list),
        "fail_under": ("fail_under", float),
        "format": ("format", str),
        "ignore_errors": ("ignore_errors", bool),
        "include_namespace_packages": ("include_namespace_packages", bool),
        "precision": ("precision", int),
        "show_missing": ("show_missing", bool),
        "skip_covered": ("skip_covered", bool),
        "skip_empty": ("skip_empty", bool),
        "sort": ("sort", str),
    },
    "html": {
        "directory": ("html_directory", os.PathLike),
        "title": ("html_title", str),
        "show_contexts": ("html_show_contexts", bool),
        "skip_covered": ("html_skip_covered", bool),
        "skip_empty": ("html_skip_empty", bool),
    },
    "xml": {"output": ("xml_output", os.PathLike), "package_depth": ("xml_package_depth", int)},
    "json": {
        "output": ("json_output", os.PathLike),
        "pretty_print": ("json_pretty_print", bool),
        "show_contexts": ("json_show_contexts", bool),
    },
    "lcov": {"output": ("lcov_output", os.PathLike), "line_checksums": ("lcov_line_checksums", bool)},
}  # fmt: skip
_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_VARIABLE = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)(?:(\?)|-([^}]*))?\})")
_RANGES = {"fail_under": (0, 100), "precision": (0, 15), "xml_package_depth": (1, 10**6)}

# By section, without its prefix: each option with its text, or its value in TOML.
_Sections = dict[str, dict[str, Any]]


def read_settings(rcfile: str | None = None) -> Settings:
    """The settings of @rcfile, of $COVERAGE_RCFILE, or of the first file in the working directory that has any."""
    named = rcfile or os.environ.get("COVERAGE_RCFILE")
    if named:
        sections = _read(named, True)
        if sections is None:
            raise CoverageError(f"cannot read the settings in {named}")
        return _apply(sections, named)
    for name, is_ours in (
        (".coveragerc", True),
        (".coveragerc.toml", True),
        ("setup.cfg", False),
        ("tox.ini", False),
        ("pyproject.toml", False),
    ):
        # A FIFO or a device would keep us waiting.
        sections = _read(name, is_ours) if os.path.isfile(name) else None
        if sections or (sections is not None and is_ours):
            return _apply(sections, name)
    return Settings()


def _read(path: str, is_ours: bool) -> _Sections | None:
    """None: there is no such file."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    if not is_ours and b"coverage" not in data:
        return {}
    try:
        text = data.decode()
        return _read_toml(text, is_ours) if path.endswith(".toml") else _read_ini(text, is_ours)
    except ValueError as error:
        raise CoverageError(f"{path}: {' '.join(str(error).split())}") from None


def _read_toml(text: str, is_ours: bool) -> _Sections:
    import tomllib

    table = tomllib.loads(text)
    sections = table.get("tool", {}).get("coverage")
    if sections is None:
        sections = table if is_ours else {}
    return {name: values for name, values in sections.items() if isinstance(values, dict)}


def _read_ini(text: str, is_ours: bool) -> _Sections:
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from None
    sections = {
        name.removeprefix("coverage:"): dict(parser[name]) for name in parser.sections() if name.startswith("coverage:")
    }
    if is_ours:
        sections = {name: dict(parser[name]) for name in parser.sections()} | sections
    return sections


def _apply(sections: _Sections, path: str) -> Settings:
    settings = Settings()
    for section, options in _OPTIONS.items():
        for option, (name, kind) in options.items():
            if option in sections.get(section, ()):
                place = f"{path}: [{section}] {option}"
                value = _convert(sections[section][option], kind, place)
                if name in _RANGES and not _RANGES[name][0] <= value <= _RANGES[name][1]:
                    raise CoverageError(f"{place} = {value}: must be from {_RANGES[name][0]} to {_RANGES[name][1]}")
                setattr(settings, name, value)
    for name, value in sections.get("paths", {}).items():
        settings.paths[name] = [os.path.expanduser(each) for each in _convert(value, list, f"{path}: [paths] {name}")]
    return settings


def _convert(value: Any, kind: type, place: str) -> Any:
    """To the type of the setting; the text of an INI file or the value of a TOML file."""
    is_list = kind in (list, re.Pattern)
    if is_list and isinstance(value, list) and all(isinstance(each, str) for each in value):
        values = [_substitute(each, place) for each in value]
    elif is_list and isinstance(value, str):
        values = re.split(r"\n|," if kind is list else r"\n", _substitute(value, place))
    elif is_list or (isinstance(value, list | dict)):
        raise CoverageError(f"{place} = {value!r}: must be {'a list of strings' if is_list else 'one value'}")
    else:
        return _convert_one(value, kind, place)
    values = [each.strip() for each in values if each.strip()]
    if kind is re.Pattern:
        for each in values:
            check_regex(each, place)
    return values


def _convert_one(value: Any, kind: type, place: str) -> Any:
    if isinstance(value, str):
        value = _substitute(value, place).strip()
    try:
        if kind is bool:
            return value if isinstance(value, bool) else _BOOLEANS[value.lower()]
        if kind is os.PathLike:
            return os.path.expanduser(value)
        if kind is str or not isinstance(value, bool):
            return kind(value)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    what = {bool: "true or false", int: "a whole number", float: "a number"}.get(kind, "text")
    raise CoverageError(f"{place} = {value!r}: must be {what}")


def check_regex(text: str, place: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise CoverageError(f"{place}: invalid regular expression '{text}': {error}") from None


def _substitute(text: str, place: str) -> str:
    """Substitute environment variables: $NAME, ${NAME}, ${NAME?}, ${NAME-default}, $$."""

    def value(match: re.Match[str]) -> str:
        dollar, plain, braced, is_needed, default = match.groups()
        name = plain or braced
        if dollar:
            return "$"
        if name not in os.environ and is_needed:
            raise CoverageError(f"{place}: the variable {name} is not set")
        return os.environ.get(name, default or "")

    return _VARIABLE.sub(value, text)
