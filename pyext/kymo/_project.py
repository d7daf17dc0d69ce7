# SPDX-License-Identifier: Apache-2.0
"""Which code is the project's own, by libkymo-replay; replay/library/project.h defines it."""

import ctypes
import os
from collections.abc import Iterable
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p

from kymo._library import Unique, as_bytes, failure, load

_library = None


def _load():
    library = load()
    library.kymo_project_open.restype = c_int
    library.kymo_project_open.argtypes = c_char_p, POINTER(c_void_p), c_char_p, c_size_t
    library.kymo_project_saw.restype = None
    library.kymo_project_owns.restype = library.kymo_project_is_absent.restype = c_int
    library.kymo_project_saw.argtypes = library.kymo_project_owns.argtypes = c_void_p, c_char_p
    library.kymo_project_is_absent.argtypes = (c_void_p,)
    library.kymo_project_is_like.restype = c_int
    library.kymo_project_is_like.argtypes = c_char_p, c_char_p
    library.kymo_project_close.restype = None
    library.kymo_project_close.argtypes = (c_void_p,)
    return library


class Project(Unique):
    """Decides by the trace at `path`, or by the names of recorded `files`."""

    def __init__(self, path: str | os.PathLike[str] | None = None, files: Iterable[str] = ()) -> None:
        global _library
        _library = _library or _load()
        self._files = c_void_p()
        message = ctypes.create_string_buffer(512)
        result = _library.kymo_project_open(None if path is None else as_bytes(path), byref(self._files), message, len(message))
        if result:
            raise failure(result, message.value, path)
        for file in files:
            _library.kymo_project_saw(self._files, _name(file))

    def __del__(self) -> None:
        if _library and self._files:
            _library.kymo_project_close(self._files)

    def has(self, file: str) -> bool:
        return bool(_library.kymo_project_owns(self._files, _name(file)))

    @property
    def is_absent(self) -> bool:
        """No code of the trace is the project's."""
        return bool(_library.kymo_project_is_absent(self._files))


class Shown:
    """The code that is shown of the trace at `path`: the project's, if there is any; or that of files that match `pattern`; or all."""

    def __init__(self, path: str | os.PathLike[str], is_all: bool = False, pattern: str | None = None) -> None:
        self._project, self._pattern = Project(path), pattern
        self._has_all = is_all or self._project.is_absent
        self._known: dict[str, bool] = {}
        self.folds = pattern is None  # what is not shown is counted

    def has(self, file: str | None) -> bool:
        """`file` None: code in C, and code that is in no file."""
        if file is None:
            return self.folds and self._has_all
        if file not in self._known:
            self._known[file] = self._decide(file)
        return self._known[file]

    def _decide(self, file: str) -> bool:
        if self._pattern is not None:
            return bool(_library.kymo_project_is_like(_name(file), _name(self._pattern)))
        return self._has_all or self._project.has(file)


def _name(file: str) -> bytes:
    return os.fsencode(file).partition(b"\0")[0]
