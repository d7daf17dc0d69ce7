# SPDX-License-Identifier: Apache-2.0
"""Names of functions that fit on one line."""

import os

from kymo.profile._tree import Function, Profile, Thread


def one_line(text: str) -> str:
    """Escapes what would end the line, or cannot be read or encoded."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def qualified(function: Function) -> str:
    return "?" if function.name is None else one_line(function.name)


def with_place(function: Function) -> str:
    """As "f (app.py:12)"."""
    if function.file is None:
        return f"{qualified(function)} (C)" if function.is_c else qualified(function)
    return f"{qualified(function)} ({one_line(os.path.basename(function.file))}:{function.line})"


def distinct(profile: Profile) -> dict[Function, str]:
    """Qualified names, with the place if several functions have the same."""
    names: dict[str, int] = {}
    for function in profile.functions:
        names[qualified(function)] = names.get(qualified(function), 0) + 1
    return {each: with_place(each) if names[qualified(each)] > 1 else qualified(each) for each in profile.functions}


def thread_name(thread: Thread) -> str:
    return one_line(thread.name) if thread.name else f"thread {thread.native_id or thread.number}"
