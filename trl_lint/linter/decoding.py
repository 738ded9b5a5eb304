"""The text of a Python file, whatever its encoding, and its lines as Python counts them."""

from __future__ import annotations

import io
import tokenize


def decode(source: bytes) -> str:
    """The text of a Python file. Never raises: falls back to Latin-1 if its own encoding fails."""
    return decoded(source)[0]


def decoded(source: bytes) -> tuple[str, str]:
    """The text of a file, and the encoding that restores the same bytes; see `decode`."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        text = source.decode(encoding)
        if text.encode(encoding) == source:  # some encodings have several spellings of a character
            return text, encoding
    except (SyntaxError, UnicodeError, LookupError):
        pass
    return source.decode("latin-1"), "latin-1"


def source_lines(source: bytes) -> list[str]:
    """The lines as Python counts them: a form feed or U+2028 does not end a line."""
    return io.StringIO(decode(source), newline=None).readlines()
