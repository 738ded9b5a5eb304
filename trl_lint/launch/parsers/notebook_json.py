"""Notebooks as text: the code cells, and where each string of their sources is in the JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from trl_lint.launch.commands.commands import Unreadable

MOST_LINES = 100_000
_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
# A character of a JSON string; one beyond the basic plane may be written as two escapes.
_CHARACTER = re.compile(r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\.|.", re.DOTALL)
# The supported notebook format: older ones keep their cells somewhere else.
FORMAT = 4
_PYTHON = frozenset({"", "python", "python3", "ipython", "ipython3"})


@dataclass(frozen=True, slots=True)
class String:
    """A string of a source, and its span including the quotes."""

    value: str
    start: int
    end: int

    def offsets(self, text: str) -> list[int]:
        """The index of each character of the value in the text, followed by that of the closing quote."""
        return [*(each.start() for each in _CHARACTER.finditer(text, self.start + 1, self.end - 1)), self.end - 1]


@dataclass(frozen=True)
class CodeCell:
    """A code cell.

    Attributes:
        number: Its place among all cells, from 1.
        start, end: The span of its source.
        language: The language that an editor has noted for this cell alone; "" if none.
    """

    number: int
    start: int
    end: int
    strings: tuple[String, ...]
    language: str = ""

    @cached_property
    def text(self) -> str:
        return "".join(each.value for each in self.strings)

    @property
    def is_python(self) -> bool:
        return self.language in _PYTHON


@dataclass(frozen=True, slots=True)
class About:
    """What a notebook says about itself. form: the `nbformat`, None if there is no such number."""

    form: int | None
    language: str

    @property
    def is_python(self) -> bool:
        return self.language in _PYTHON


def code_cells(text: str) -> Iterator[CodeCell]:
    """The code cells of a notebook, in order.

    Raises:
        Unreadable: the text is no JSON, or no notebook.
    """
    try:
        yield from _Scan(text).code_cells()
    except (ValueError, RecursionError, IndexError):
        raise Unreadable("not a notebook that can be read") from None


def about(text: str) -> About:
    """What a notebook says about itself.

    Raises:
        Unreadable: the text is no JSON, or no notebook.
    """
    try:
        return _Scan(text).about()
    except (ValueError, RecursionError, IndexError):
        raise Unreadable("not a notebook that can be read") from None


# The keys of the cells, of which each notebook has one; the second is that of formats before 4.
_CELLS = frozenset({"cells", "worksheets"})


class _Scan:
    """A JSON reader that reports the positions of strings; values of keys that are not needed are skipped."""

    def __init__(self, text: str) -> None:
        self._text = text

    def about(self) -> About:
        found = {key: self._value(place)[0] for key, place in self._members(self._blank(0)) if key in _ABOUT}
        form = found.get("nbformat")
        return About(form if isinstance(form, int) else None, _language(found.get("metadata")))

    def code_cells(self) -> Iterator[CodeCell]:
        if _CELLS.isdisjoint(key for key, _ in self._members(self._blank(0))):
            raise ValueError("no cells")
        for cells in self._values(self._blank(0), "cells"):
            place, number = self._blank(cells + 1), 1
            while self._text[place] != "]":
                content, end = self._value(place)
                if isinstance(content, dict) and content.get("cell_type") == "code":
                    yield from self._cell(place, number, content)
                place, number = self._blank(end), number + 1
                place = self._blank(place + 1) if self._text[place] == "," else place

    def _cell(self, place: int, number: int, content: Mapping[str, object]) -> Iterator[CodeCell]:
        sources = list(self._values(place, "source"))
        if not sources or self._text[sources[0]] not in '["':
            return
        strings = tuple(islice(self._strings(sources[0]), MOST_LINES + 1))
        if len(strings) > MOST_LINES:
            raise Unreadable(f"a cell has more than {MOST_LINES:,} lines")
        yield CodeCell(number, sources[0], self._value(sources[0])[1], strings, _own_language(content))

    def _strings(self, place: int) -> Iterator[String]:
        if self._text[place] == '"':
            yield self._string(place)
            return
        place = self._blank(place + 1)
        while self._text[place] == '"':
            string = self._string(place)
            yield string
            place = self._blank(string.end)
            place = self._blank(place + 1) if self._text[place] == "," else place

    def _values(self, place: int, wanted: str) -> Iterator[int]:
        """The indices at which the values of this key of the object begin."""
        return (value for key, value in self._members(place) if key == wanted)

    def _members(self, place: int) -> Iterator[tuple[str, int]]:
        """The keys of an object, with the indices at which their values begin."""
        if self._text[place] != "{":
            raise ValueError(place)
        place = self._blank(place + 1)
        while self._text[place] != "}":
            key = self._string(place)
            place = self._blank(self._blank(key.end) + 1)
            yield key.value, place
            place = self._blank(self._value(place)[1])
            place = self._blank(place + 1) if self._text[place] == "," else place

    def _string(self, place: int) -> String:
        if self._text[place] != '"':
            raise ValueError(place)
        value, end = self._value(place)
        return String(str(value), place, end)

    def _value(self, place: int) -> tuple[object, int]:
        """The value that begins here, and its end."""
        return _DECODER.raw_decode(self._text, place)

    def _blank(self, place: int) -> int:
        match = _SPACE.match(self._text, place)
        assert match is not None
        return match.end()


# The keys read from a notebook other than its cells, and where its language may be.
_ABOUT = ("nbformat", "metadata")
_LANGUAGES = (("kernelspec", "language"), ("language_info", "name"))


def _language(metadata: object) -> str:
    for above, key in _LANGUAGES:
        if name := _in(_in(metadata, above), key):
            return str(name).lower()
    return ""


def _own_language(cell: Mapping[str, object]) -> str:
    """The language that VS Code notes for a cell if it differs from the notebook's."""
    return str(_in(_in(cell.get("metadata"), "vscode"), "languageId") or "").lower()


def _in(table: object, key: str) -> object:
    return table.get(key) if isinstance(table, dict) else None
