"""Safe output: paths, messages and pieces of code come from the linted files, which may be malicious.

A file name may contain a line end, and a string in the code may contain control sequences that clear the screen. Output
must neither forge a line nor control the terminal. JSON must be valid for strict readers, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

# JSON values. Sequences and mappings cover lists and objects of more specific types.
Json: TypeAlias = "str | int | float | Sequence[Json] | Mapping[str, Json] | None"

_LETTERS = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# How Python represents the bytes of a file name that are not UTF-8.
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF


def line(text: str) -> str:
    """A text on one line without control characters; what can't be printed is escaped as in Python."""
    return text if text.isprintable() else "".join(char if char.isprintable() else _written(char) for char in text)


def _written(char: str) -> str:
    number = ord(char)
    if _FIRST_BYTE <= number <= _LAST_BYTE:
        number -= 0xDC00
    if number < 0x100:
        return _LETTERS.get(char, f"\\x{number:02x}")
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def in_json(value: Json) -> Json:
    """A JSON value whose strings contain no lone surrogates, which are not characters outside Python."""
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, dict):
        return {_whole(key): in_json(each) for key, each in value.items()}
    return [in_json(each) for each in value] if isinstance(value, (list, tuple)) else value


def _whole(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def in_diff(name: bytes) -> bytes:
    """A file name for the header of a diff, quoted if needed as git does, and as `patch` and `git apply` read it."""
    try:
        text = name.decode()
    except UnicodeDecodeError:
        text = name.decode("ascii", "surrogateescape")
    if text.isprintable() and '"' not in text and "\\" not in text:
        return name
    return b'"' + "".join(map(_quoted, text)).encode("ascii") + b'"' if name else name


def _quoted(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isascii() and char.isprintable():
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
