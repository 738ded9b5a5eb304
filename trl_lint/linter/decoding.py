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


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends, as Python counts them: a form feed or U+2028 does not end a line."""
    return io.StringIO(text, newline="").readlines()


def source_lines(source: bytes) -> list[str]:
    r"""The lines of a file as Python counts them, each of which ends in `\n`, whatever its end in the file."""
    return io.StringIO(decode(source), newline=None).readlines()
