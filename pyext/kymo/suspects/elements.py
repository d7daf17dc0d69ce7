# SPDX-License-Identifier: Apache-2.0
"""What may correlate with failing.  An element is a tuple: its kind, the file, and what identifies it.

    LINE          file, line
    BRANCH        file, line, the line that it went to, or 0: it left the function
    CALL          file, qualified name
    NO_CALL       file, qualified name: it was not called
    EXCEPTION     file, qualified name, line, type
    ROUND         file, qualified name, line of the loop, round from 1, line, the line that it went to
    ORDER         file, qualified name, line, a line that ran first after that, in one activation
    CALL_ORDER    file and qualified name of the caller, two functions as (file, qualified name)
    INTERLEAVING  file, qualified name, line where a thread stood, qualified name and line that another ran meanwhile
    VALUE         file, qualified name, how it was recorded, line, name of a variable, a predicate: see predicates.py
    GO            file, line, next line of the activation: not ranked; it shows when a branch was taken
"""

from typing import Any

LINE, BRANCH, CALL, NO_CALL, EXCEPTION = "line", "branch", "call", "no call", "exception"
ROUND, ORDER, CALL_ORDER, INTERLEAVING, GO = "round", "order", "call order", "interleaving", "go"
VALUE = "value"

# If elements say the same, the earlier kind is reported.
KINDS = (BRANCH, EXCEPTION, CALL, LINE, ROUND, ORDER, CALL_ORDER, INTERLEAVING, VALUE, NO_CALL)
OF_SEQUENCES = {EXCEPTION, ROUND, ORDER, CALL_ORDER, INTERLEAVING}

Key = tuple[Any, ...]
