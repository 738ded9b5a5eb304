"""Positions in notebooks, converted between the JSON and lines of a cell, as users see them."""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from itertools import accumulate

from trl_lint.findings import Position
from trl_lint.launch.commands.commands import Unreadable
from trl_lint.launch.commands.source_map import line_starts
from trl_lint.launch.parsers.notebook_json import CodeCell, String, code_cells

_LINE_END = re.compile(r"\r\n|\r|\n")


class CellPlaces:
    """The positions in the cells of a notebook, given its JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._cells: list[CodeCell] = []
        with suppress(Unreadable):  # the rest has no commands either
            self._cells.extend(code_cells(text))

    def __call__(self, offset: int) -> Position:
        """The position in a cell for an index into the text; the beginning of the file for one between cells."""
        for cell in self._cells:
            before = accumulate((len(each.value) for each in cell.strings), initial=0)
            for string, above in zip(cell.strings, before, strict=False):
                if string.start <= offset < string.end:
                    return self._in_cell(cell, string, above, offset)
        return Position(1, 1)

    def in_file(self, place: Position) -> Position:
        """The position in the file for one in a cell; a position in no cell is returned unchanged."""
        cell = next((each for each in self._cells if each.number == place.cell), None)
        if cell is None or not cell.strings:
            return place
        ends = line_starts(cell.text)
        index = min(ends[min(place.line, len(ends)) - 1] + place.column - 1, len(cell.text))
        at = [*(each for string in cell.strings for each in string.offsets(self._text)[:-1]), cell.strings[-1].end - 1]
        lines = _LINE_END.split(self._text[: at[index]])
        return Position(len(lines), len(lines[-1]) + 1)

    def _in_cell(self, cell: CodeCell, string: String, above: int, offset: int) -> Position:
        inside = max(bisect_right(string.offsets(self._text), offset) - 1, 0)
        lines = _LINE_END.split(cell.text[: above + inside])
        return Position(len(lines), len(lines[-1]) + 1, cell=cell.number)
