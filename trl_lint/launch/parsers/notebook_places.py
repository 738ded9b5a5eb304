"""Where a launch command in a notebook stands for its users: in a line of a cell, not of the JSON around it."""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from itertools import accumulate

from trl_lint.findings import Position
from trl_lint.launch.commands.commands import Unreadable
from trl_lint.launch.parsers.notebook_json import CodeCell, String, code_cells

_LINE_END = re.compile(r"\r\n|\r|\n")


class CellPlaces:
    """The place in a cell of an index into the text of a notebook that could be read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._cells: list[CodeCell] = []
        with suppress(Unreadable):  # what stands behind has no commands either
            self._cells.extend(code_cells(text))

    def __call__(self, offset: int) -> Position:
        """The place; of an index between cells, the beginning of the file."""
        for cell in self._cells:
            before = accumulate((len(each.value) for each in cell.strings), initial=0)
            for string, above in zip(cell.strings, before, strict=False):
                if string.start <= offset < string.end:
                    return self._in_cell(cell, string, above, offset)
        return Position(1, 1)

    def _in_cell(self, cell: CodeCell, string: String, above: int, offset: int) -> Position:
        inside = max(bisect_right(string.offsets(self._text), offset) - 1, 0)
        lines = _LINE_END.split(cell.text[: above + inside])
        return Position(len(lines), len(lines[-1]) + 1, cell=cell.number)
