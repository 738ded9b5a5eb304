"""Positions in LSP: lines and columns from 0, columns in units of the agreed encoding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types

from trl_lint.findings import Edit, Position

# The code unit of each encoding: the codec, and the number of bytes per unit.
_UNITS = {
    types.PositionEncodingKind.Utf8.value: ("utf-8", 1),
    types.PositionEncodingKind.Utf16.value: ("utf-16-le", 2),
    types.PositionEncodingKind.Utf32.value: ("utf-32-le", 4),
}
# Python's `splitlines` also splits where neither Python nor LSP ends a line: at a form feed, at U+2028.
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Coordinates:
    """Converts positions of one text. encoding: "utf-16", unless client and server agreed on another one."""

    text: str
    encoding: str = types.PositionEncodingKind.Utf16.value

    @cached_property
    def lines(self) -> Sequence[str]:
        """The lines without their ends."""
        return _LINE_END.split(self.text)

    def line(self, number: int) -> str:
        """A line, counted from 1; "" if there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def position(self, place: Position) -> types.Position:
        """A position of this tool as an LSP position; after the last line, the end of that line."""
        if place.line > len(self.lines):
            place = Position(len(self.lines), len(self.lines[-1]) + 1)
        codec, width = _UNITS[self.encoding]
        before = self.line(place.line)[: place.column - 1]
        return types.Position(place.line - 1, len(before.encode(codec, "surrogatepass")) // width)

    def place(self, position: types.Position) -> Position:
        """An LSP position as a position of this tool; inside a character, that character."""
        codec, width = _UNITS[self.encoding]
        before = self.line(position.line + 1).encode(codec, "surrogatepass")[: position.character * width]
        return Position(position.line + 1, len(before.decode(codec, "ignore")) + 1)

    def span(self, start: Position, end: Position) -> types.Range:
        return types.Range(self.position(start), self.position(end))

    def text_edit(self, edit: Edit) -> types.TextEdit:
        return types.TextEdit(self.span(edit.start, edit.end), edit.content)
