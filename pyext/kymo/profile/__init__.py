# SPDX-License-Identifier: Apache-2.0
"""Where a recorded program spent its time."""

from kymo.profile._tree import Function, FunctionTimes, Line, Node, Profile, Slice, Thread, read

__all__ = ["Function", "FunctionTimes", "Line", "Node", "Profile", "Slice", "Thread", "read"]
