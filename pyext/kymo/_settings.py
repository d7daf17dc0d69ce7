# SPDX-License-Identifier: Apache-2.0
"""The options that the environment and pyproject.toml set, as defaults for those not given.

They mean the same as for `kymo record`: KYMO_RING_SIZE and `ring-size` in [tool.kymo] are
the option ring_size, and a variable overrides the file.
"""

import os

_FLAGS = ("C_CALLS", "NO_STDLIB", "NO_SOURCES", "NO_CODE_WRITES", "NO_SUBPROCESSES", "FORCE", "QUIET")
_WORDS = ("OUTPUT", "EVENTS", "POLICY", "CLOCK", "RING_SIZE", "MAX_SIZE", "SEGMENT_MEMORY", "SESSION_DIR", "VALUES", "VALUES_LIMITS")
_LISTS = ("SOURCE", "INCLUDE", "OMIT", "VALUES_FOR", "REDACT")


def _is_set(value):
    return value not in (None, "", "0")


def _from_environment():
    options = {name.lower(): True for name in _FLAGS if _is_set(os.environ.get("KYMO_" + name))}
    for name in _WORDS + _LISTS:
        value = os.environ.get("KYMO_" + name)
        if value:
            options[name.lower()] = [*filter(None, value.split(":"))] if name in _LISTS else value
    return options


def _find_file():
    """The nearest pyproject.toml from the working directory upwards; a FIFO or a device would keep us waiting."""
    try:
        folder = os.getcwd()
    except OSError:
        return None
    while not os.path.isfile(path := os.path.join(folder, "pyproject.toml")):
        if folder == (folder := os.path.dirname(folder)):
            return None
    return path


def _read_table(path):
    with open(path, "rb") as file:
        text = file.read()
    if b"tool.kymo" not in text:
        return {}
    import tomllib

    return tomllib.loads(text.decode()).get("tool", {}).get("kymo", {})


def _from_file():
    path = _find_file()
    options = {}
    for name, value in _read_table(path).items() if path else ():
        if name == "pytest":  # a table of the pytest plugin
            continue
        option = name.replace("-", "_")
        if option.upper() not in _FLAGS + _WORDS + _LISTS:
            raise ValueError(f"{path}: [tool.kymo] {name}: unknown option")
        options[option] = value
    folder = os.path.dirname(path or "")
    for name in options.keys() & {"output", "session_dir"}:
        options[name] = os.path.join(folder, options[name])
    if "source" in options:
        sources = options["source"]
        sources = [sources] if isinstance(sources, str) else sources
        options["source"] = [_anchor(folder, source) for source in sources]
    return options


def _anchor(folder, source):
    """A path, as in the filter of code objects, is relative to the file; else it is a module."""
    is_path = "/" in source or source == "." or source.endswith(".py")
    return os.path.normpath(os.path.join(folder, source)) if is_path else source


def settings():
    return _from_file() | _from_environment()
