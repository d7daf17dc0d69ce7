# SPDX-License-Identifier: Apache-2.0
"""Which files a report is about."""

import os
import re
import sys
from collections.abc import Iterable, Iterator

from kymo._project import Project
from kymo.coverage.errors import CoverageError
from kymo.coverage.patterns import Patterns, absolute
from kymo.coverage.settings import Settings

_LIBRARY = re.compile(r"(.*?)/lib(?:64)?/python3(?:\.\d+t?)?(?=/)|.*/python3\d+\.zip(?=/)")
_INSTALLED = re.compile(r".*/(?:site|dist)-packages(?=/)")
_IMPORTABLE = re.compile(r"[^.#~!$@%^&*()+=,]+\.pyw?")
_KYMO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Scope:
    """Decides by names of files.  @files are all that were recorded: they show where the interpreters were."""

    def __init__(self, settings: Settings, files: Iterable[str]):
        self._project = Project(files=files)
        self._folders = [folder for folder in settings.source if os.path.isdir(folder)]
        self._packages = [name for name in settings.source if not os.path.isdir(name)] + settings.source_pkgs
        for folder in settings.source_dirs:
            if not os.path.isdir(folder):
                raise CoverageError(f"source_dirs: not a folder: {folder}")
        self._folders = [absolute(folder) for folder in [*self._folders, *settings.source_dirs]]
        for name in self._packages:
            if "/" in name:
                raise CoverageError(f"folder not found: {name}")
        self._run_include, self._run_omit = Patterns(settings.run_include), Patterns(settings.run_omit)
        self._report_include, self._report_omit = Patterns(settings.report_include), Patterns(settings.report_omit)
        self._with_namespaces = settings.include_namespace_packages

    def has(self, path: str) -> bool:
        """@path is absolute, or the name of code that is in no file, such as <string>."""
        if path.startswith("<") or not path:
            return False
        if self._folders or self._packages:
            is_in = self._is_in_source(path)
        elif self._run_include:
            is_in = self._run_include.match(path)
        else:
            is_in = self._project.has(path) and not path.startswith(_KYMO + "/")
        if not is_in or self._run_omit.match(path) or self._report_omit.match(path):
            return False
        return not self._report_include or self._report_include.match(path)

    def is_named(self, path: str) -> bool:
        """Whether the user named the folder that it lies in, so that it may be read from there."""
        return any(path.startswith(folder + "/") for folder in self._source_folders())

    def unexecuted(self, seen: set[str]) -> Iterator[str]:
        """Files below the source folders that are not in @seen."""
        found = set()
        for folder in self._source_folders():
            for path in _python_files(folder, self._with_namespaces):
                if path not in seen and path not in found and self.has(path):
                    found.add(path)
                    yield path

    def _source_folders(self) -> list[str]:
        """The named folders, and those of named packages below the working directory."""
        places = [
            os.path.join(base, *name.split("."))
            for name in self._packages
            for base in (os.getcwd(), os.path.abspath("src"))
        ]
        return self._folders + [absolute(place) for place in places if os.path.isdir(place)]

    def _is_in_source(self, path: str) -> bool:
        for folder in self._folders:
            # Installed files inside of the folder, as in a virtual environment, do not belong to it.
            if path.startswith(folder.rstrip("/") + "/"):
                return not self._is_installed(path[len(folder) :]) or self._is_installed(folder + "/")
        return any(_is_of_package(path, name) for name in self._packages)

    def _is_installed(self, path: str) -> bool:
        return bool(_INSTALLED.match(path))


def _is_of_package(path: str, name: str) -> bool:
    """Whether a module with this path can be that package, or a part of it; an installed one is at the top."""
    inner = "/" + name.replace(".", "/")
    installed = _INSTALLED.match(path)
    rest = path[installed.end() :] if installed else path
    if installed or _LIBRARY.match(path):
        rest = rest if installed else path[_LIBRARY.match(path).end() :]  # type: ignore[union-attr]
        return rest.startswith(inner + "/") or rest == inner + ".py"
    return inner + "/" in rest or rest.endswith(inner + ".py")


def _python_files(folder: str, with_namespaces: bool) -> Iterator[str]:
    """The files that can be imported: below the folder itself, only those of packages."""
    for at, folders, files in os.walk(folder):
        if at != folder and not with_namespaces and "__init__.py" not in files:
            folders.clear()
            continue
        folders.sort()
        for name in sorted(files):
            if _IMPORTABLE.fullmatch(name):
                yield os.path.join(at, name)


def relative(path: str) -> str:
    """Relative to the working directory, if it lies there."""
    here = os.getcwd().rstrip("/") + "/"
    return path[len(here) :] if path.startswith(here) else path


def running_version() -> tuple[int, int]:
    return sys.version_info[0], sys.version_info[1]
