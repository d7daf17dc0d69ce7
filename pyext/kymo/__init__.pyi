from collections.abc import Callable, Sequence
from os import PathLike
from types import TracebackType
from typing import Literal, ParamSpec, TypedDict, TypeVar, Unpack, overload

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Path = str | PathLike[str]

class _Options(TypedDict, total=False):
    events: str
    c_calls: bool
    policy: Literal["block", "drop", "overwrite"]
    clock: Literal["sampled", "exact", "none"]
    ring_size: int | str
    max_size: int | str
    source: str | Sequence[_Path]
    include: str | Sequence[str]
    omit: str | Sequence[str]
    no_stdlib: bool
    no_sources: bool
    no_subprocesses: bool
    session_dir: _Path
    force: bool
    quiet: bool

__version__: str

class record:
    def __init__(self, output: _Path | None = None, **options: Unpack[_Options]) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]: ...

@overload
def trace(function: Callable[_P, _R]) -> Callable[_P, _R]: ...
@overload
def trace(
    function: None = None, output: _Path | None = None, **options: Unpack[_Options]
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
def start(output: _Path | None = None, **options: Unpack[_Options]) -> None: ...
def stop() -> None: ...
def is_recording() -> bool: ...
def mark(text: str) -> None: ...
def snapshot(why: str) -> None: ...
