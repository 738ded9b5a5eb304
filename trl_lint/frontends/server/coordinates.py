"""Places as the protocol counts them: lines and columns from 0, columns in units of an encoding that was agreed on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types

from trl_lint.findings import Edit, Position

# How a unit of each encoding is written: the codec, and how many of its bytes make one.
_UNITS = {
    types.PositionEncodingKind.Utf8.value: ("utf-8", 1),
    types.PositionEncodingKind.Utf16.value: ("utf-16-le", 2),
    types.PositionEncodingKind.Utf32.value: ("utf-32-le", 4),
}
# Python's own `splitlines` also ends lines where neither Python nor the protocol does: at a form feed, at U+2028.
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Coordinates:
    """The places of one text. encoding: "utf-16", unless client and server agreed on another one."""

    text: str
    encoding: str = types.PositionEncodingKind.Utf16.value

    @cached_property
    def lines(self) -> Sequence[str]:
        """The lines without their ends."""
        return _LINE_END.split(self.text)

    def line(self, number: int) -> str:
        """A line, counted from 1; "" where there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def position(self, place: Position) -> types.Position:
        """A place of ours in the protocol's terms; behind the last line it is the end of that."""
        if place.line > len(self.lines):
            place = Position(len(self.lines), len(self.lines[-1]) + 1)
        codec, width = _UNITS[self.encoding]
        before = self.line(place.line)[: place.column - 1]
        return types.Position(place.line - 1, len(before.encode(codec, "surrogatepass")) // width)

    def place(self, position: types.Position) -> Position:
        """A place of the protocol's in our terms; inside of a character it is that character's."""
        codec, width = _UNITS[self.encoding]
        before = self.line(position.line + 1).encode(codec, "surrogatepass")[: position.character * width]
        return Position(position.line + 1, len(before.decode(codec, "ignore")) + 1)

    def span(self, start: Position, end: Position) -> types.Range:
        return types.Range(self.position(start), self.position(end))

    def text_edit(self, edit: Edit) -> types.TextEdit:
        return types.TextEdit(self.span(edit.start, edit.end), edit.content)
