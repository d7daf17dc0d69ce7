# SPDX-License-Identifier: Apache-2.0
"""The error that ends a command with one line."""


class CoverageError(Exception):
    """An error that the user can fix; the text is one line, without the name of the program."""
