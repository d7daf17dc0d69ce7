# SPDX-License-Identifier: Apache-2.0
"""Source files as text."""

import io
import tokenize


def decode(source: bytes) -> str:
    """Decode by the encoding that the file names, with newlines as `\\n`; invalid bytes are replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        text = source.decode(encoding, "replace")
    except (SyntaxError, LookupError, ValueError):
        text = source.decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def lines(source: bytes) -> list[str]:
    parts = decode(source).split("\n")
    return parts[:-1] if parts[-1] == "" else parts
