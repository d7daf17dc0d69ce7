# SPDX-License-Identifier: Apache-2.0
"""The error that ends a command with one line."""


class CoverageError(Exception):
    """What the user can do something about; the text is one line, without the name of the program."""
