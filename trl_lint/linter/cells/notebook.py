"""Notebooks: their code cells, in order, form one module. Only the JSON strings of changed lines are rewritten."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path, PurePath

from trl_lint.launch.commands.commands import Unreadable
from trl_lint.launch.parsers.notebook_json import FORMAT, CodeCell, about, code_cells
from trl_lint.linter.cells.document import CodeDocument
from trl_lint.linter.cells.ipython import python_lines
from trl_lint.linter.cells.places import Change, CodePart, Line, last_first, lines_with_ends, with_changes
from trl_lint.linter.decoding import lines_of

# A declaration of a text's encoding, which has no meaning in JSON strings.
_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=]")


@lru_cache(maxsize=8)
def read_notebook(path: Path, source: bytes) -> CodeDocument:
    """Read a notebook. Never raises: one that can't be read has no parts, and a remark that says so.

    One in a language other than Python has no parts and no remark.
    """
    try:
        text = source.decode("utf-8-sig")
        metadata, cells = about(text), tuple(code_cells(text))
    except UnicodeDecodeError:
        return CodeDocument(path, source, remark="not looked at: its text is not UTF-8")
    except Unreadable as error:
        return CodeDocument(path, source, remark=str(error))
    if metadata.form is not None and metadata.form != FORMAT:
        return CodeDocument(
            path, source, remark=f"not looked at: a notebook of format {metadata.form}; known is {FORMAT}"
        )
    texts = {each.number: each.text for each in cells}
    python = [(each.number, each.text) for each in cells if each.is_python] if metadata.is_python else []
    parts = (module_of(path, python),) if python else ()
    return CodeDocument(path, source, parts, texts, write=partial(_written, text, cells, source.startswith(BOM_UTF8)))


def module_of(path: Path, cells: Iterable[tuple[int, str]]) -> CodePart:
    """The module formed by code cells, each given by its number among all cells and its text."""
    texts = dict(cells)
    lines: list[Line] = []
    code: list[str] = []
    for number, text in texts.items():
        lines.append(Line(number, 0, own=False, is_mark=True))
        code.append(f"# %% {number}\n")
        for place, line in enumerate(python_lines("".join(lines_with_ends(text))), 1):
            is_cookie = len(code) == 1 and _COOKIE.match(line.text) is not None
            lines.append(Line(number, place, line.prefix, line.own and not is_cookie))
            code.append("#\n" if is_cookie else line.text)
    return CodePart(path, path, "".join(code), lines, texts)


def all_cells(path: PurePath, source: bytes) -> CodePart:
    """All code cells as one module, including those in other languages: comments may be in any of them."""
    known = read_notebook(Path(path), source)
    return known.parts[0] if known.parts else module_of(known.path, known.texts.items())


def cell_of(part: CodePart, number: int) -> tuple[str, int]:
    """The text of a cell as Python reads it, and the number of module lines before it."""
    at = [place for place, each in enumerate(part.lines) if each.cell == number and not each.is_mark]
    lines = lines_of(part.text)
    return "".join(lines[place] for place in at), at[0] if at else 0


# --- writing --------------------------------------------------------------------------------------------


def _written(text: str, cells: Sequence[CodeCell], has_mark: bool, changes: Sequence[Change]) -> bytes:
    """The JSON with changed lines. has_mark: whether it begins with a byte order mark."""
    for cell in reversed(cells):
        changes_of_cell = [each for each in changes if each.cell == cell.number]
        if changes_of_cell:
            text = text[: cell.start] + _source(text, cell, changes_of_cell) + text[cell.end :]
    return BOM_UTF8 * has_mark + text.encode("utf-8", "surrogatepass")


def _source(text: str, cell: CodeCell, changes: Sequence[Change]) -> str:
    """The value of a cell's source with changed lines; everything else keeps its spelling."""
    if text[cell.start] == "[" and [each.value for each in cell.strings] == lines_of(cell.text):
        return _list(text, cell, changes)
    return _characters(text, cell, changes)


@dataclass(frozen=True, slots=True)
class _Item:
    """A line in a list of lines.

    Attributes:
        was: Its original value.
        written: How that is spelled in the JSON.
        before: The text before it.
    """

    value: str
    was: str | None = None
    written: str = ""
    before: str = ""


def _list(text: str, cell: CodeCell, changes: Sequence[Change]) -> str:
    """A list that has one string per line."""
    first, last = cell.strings[0], cell.strings[-1]
    between = [text[one.end : other.start] for one, other in zip(cell.strings, cell.strings[1:], strict=False)]
    usual = between[0] if between else f",{text[cell.start + 1 : first.start]}"
    items = [
        _Item(line, each.value, text[each.start : each.end], before)
        for line, each, before in zip(lines_with_ends(cell.text), cell.strings, [usual, *between], strict=True)
    ]
    for change in last_first(changes):
        items[change.first : change.last] = [_Item(line, before=usual) for line in change.lines]
    if not items:
        return "[]"
    values = lines_of(with_changes(cell.text, changes))
    # One item fewer if the last line is now empty and has no line end.
    written = [_as_written(item, value, text) for item, value in zip(items, values, strict=False)]
    return text[cell.start : first.start] + "".join(written).removeprefix(items[0].before) + text[last.end : cell.end]


def _as_written(item: _Item, value: str, text: str) -> str:
    return item.before + (item.written if item.was == value else _quoted(value, text))


def _characters(text: str, cell: CodeCell, changes: Sequence[Change]) -> str:
    """One string for all lines, or one for several: unchanged text is copied character by character."""
    first, last = cell.strings[0], cell.strings[-1]
    at = [*(place for each in cell.strings for place in each.offsets(text)[:-1]), last.end - 1]
    pieces = [text[cell.start : first.start + 1]]
    for start, end, content in _spans(cell.text, with_changes(cell.text, changes)):
        pieces.append(text[at[start] : at[end]] if content is None else _quoted(content, text)[1:-1])
    return "".join([*pieces, text[last.end - 1 : cell.end]])


def _spans(old: str, new: str) -> Iterator[tuple[int, int, str | None]]:
    """The pieces of a text, in order, each with its replacement; None: unchanged."""
    from trl_lint.linter.rewriting.hunks import hunks

    before, after = lines_of(old), lines_of(new)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    place = 0
    for each in hunks(before, after):
        yield starts[place], starts[each.first], None
        yield starts[each.first], starts[each.last], "".join(after[each.start : each.end])
        place = each.last
    yield starts[place], starts[-1], None


def _quoted(value: str, text: str) -> str:
    """A JSON string, with non-ASCII characters unescaped if the file has any."""
    return json.dumps(value, ensure_ascii=text.isascii())
