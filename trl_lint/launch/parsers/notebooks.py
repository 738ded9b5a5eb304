"""Jupyter notebooks: `!python train.py` and `%%bash` in code cells. Cells are strings of JSON, and edited as such."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from trl_lint.launch.commands.commands import CommandContext, Commands, Unreadable
from trl_lint.launch.commands.source_map import Passage, align, joined
from trl_lint.launch.parsers import shell, shell_tree

LARGEST = 30_000_000
MOST_LINES = 100_000
_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"-?[\w.+-]+")
_CELL_MAGIC = re.compile(r"%%(?:bash|sh|script\s+(?:bash|sh))\b[^\n]*\n")
_LINE_MAGIC = re.compile(r"[ \t]*(?:\w+[ \t]*=[ \t]*)?(?:!|%sx[ \t]|%system[ \t])")
_ENVIRONMENT = re.compile(
    r"^[ \t]*(?:%(?:set_)?env[ \t]+([A-Z_]\w*)[= \t]+(?![= \t])(\S*)"
    r"|os\.environ\[['\"]([A-Z_]\w*)['\"]\][ \t]*=[ \t]*['\"]([^'\"]*)['\"])[ \t]*$",
    re.MULTILINE,
)


def commands(text: str) -> Commands:
    """The commands in a notebook's code cells."""
    if len(text) > LARGEST:
        raise Unreadable(f"a notebook of {len(text)} characters is not looked at")
    here, some_large = CommandContext("notebook"), False
    for source in _cells(text):
        cell = "".join(value for value, _, _ in source)
        if found := {match[1] or match[3]: match[2] or match[4] or "" for match in _ENVIRONMENT.finditer(cell)}:
            here.work.spend(1 + len(here.environment), "variables")
            here = replace(here, environment={**here.environment, **found})
        if "python" not in cell and "uv run" not in cell:
            continue
        if len(cell) > shell_tree.LARGEST:
            some_large = True
            continue
        pieces = [align(text, start + 1, end - 1, value) for value, start, end in source]
        found_pieces = [each for each in pieces if each is not None]
        if len(found_pieces) == len(pieces):
            yield from _cell(joined(found_pieces), here)
    if some_large:
        raise Unreadable(f"a cell has more than {shell_tree.LARGEST:,} characters")


def _cell(cell: Passage, surroundings: CommandContext) -> Commands:
    magic = _CELL_MAGIC.match(cell.text)
    if magic:
        yield from shell.read(cell.part(magic.end(), len(cell.text)), replace(surroundings, kind="notebook"))
        return
    if cell.text.startswith("%%") and not re.match(r"%%(?:time|capture)", cell.text):
        return
    for line in _magic_lines(cell):
        yield from shell.read(line, surroundings)


def _magic_lines(cell: Passage) -> Iterator[Passage]:
    """Lines for the shell, less their `!`, with those that a backslash joins to them."""
    lines = [(match.start(), match.end()) for match in re.finditer(r"[^\n]*\n?", cell.text) if match[0]]
    pieces: list[Passage] = []
    for start, end in lines:
        match = _LINE_MAGIC.match(cell.text, start, end)
        if pieces or match:
            pieces.append(cell.part(start if pieces or match is None else match.end(), end))
            if not cell.text[start:end].rstrip().endswith("\\"):
                yield _less_braces(joined(pieces))
                pieces = []
    if pieces:
        yield _less_braces(joined(pieces))


def _less_braces(passage: Passage) -> Passage:
    """IPython puts Python values into `{name}`."""
    from trl_lint.launch.commands.templates import without_braces

    return without_braces(passage)


def _cells(text: str) -> Iterator[list[tuple[str, int, int]]]:
    """The source of each code cell: its strings, each with where it stands."""
    try:
        yield from _Scan(text).code_cells()
    except (ValueError, RecursionError, IndexError):
        raise Unreadable("no notebook: its JSON can't be read") from None


class _Scan:
    """A reader of JSON that says where strings stand; the values of other keys than a cell's are skipped."""

    def __init__(self, text: str) -> None:
        self._text = text

    def code_cells(self) -> Iterator[list[tuple[str, int, int]]]:
        for cells in self._values(self._blank(0), "cells"):
            place = self._blank(cells + 1)
            while self._text[place] != "]":
                if cell := self._cell(place):
                    yield cell
                place = self._blank(self._skip(place))
                place = self._blank(place + 1) if self._text[place] == "," else place

    def _cell(self, place: int) -> list[tuple[str, int, int]] | None:
        kinds = [self._string(each)[0] for each in self._values(place, "cell_type") if self._text[each] == '"']
        sources = list(self._values(place, "source"))
        if kinds != ["code"] or not sources:
            return None
        strings = list(islice(self._strings(sources[0]), MOST_LINES + 1))
        if len(strings) > MOST_LINES:
            raise Unreadable(f"a cell has more than {MOST_LINES:,} lines")
        return strings

    def _strings(self, place: int) -> Iterator[tuple[str, int, int]]:
        if self._text[place] == '"':
            value, end = self._string(place)
            yield value, place, end
            return
        place = self._blank(place + 1)
        while self._text[place] == '"':
            value, end = self._string(place)
            yield value, place, end
            place = self._blank(end)
            place = self._blank(place + 1) if self._text[place] == "," else place

    def _values(self, place: int, wanted: str) -> Iterator[int]:
        """Where the values of this key of the object begin."""
        if self._text[place] != "{":
            raise ValueError(place)
        place = self._blank(place + 1)
        while self._text[place] != "}":
            key, place = self._string(place)
            place = self._blank(self._blank(place) + 1)
            if key == wanted:
                yield place
            place = self._blank(self._skip(place))
            place = self._blank(place + 1) if self._text[place] == "," else place

    def _string(self, place: int) -> tuple[str, int]:
        if self._text[place] != '"':
            raise ValueError(place)
        found: tuple[str, int] = _DECODER.raw_decode(self._text, place)
        return found

    def _skip(self, place: int) -> int:
        """The end of the value that begins here."""
        return _DECODER.raw_decode(self._text, place)[1]

    def _blank(self, place: int) -> int:
        match = _SPACE.match(self._text, place)
        assert match is not None
        return match.end()
