"""Markdown and reStructuredText: each block of Python, and each session with prompts, is a module."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path

from trl_lint import quiet_ast
from trl_lint.launch.commands.source_map import Passage
from trl_lint.launch.parsers.readers import LARGEST, RESTRUCTURED, front_end
from trl_lint.linter.cells.document import CodeDocument
from trl_lint.linter.cells.ipython import python_lines
from trl_lint.linter.cells.places import Change, CodePart, Line, NotInside, lines_with_ends, with_changes
from trl_lint.linter.decoding import lines_of

# Languages that mean Python after a fence or a directive, and directives that run code when a document is built.
_PYTHON = frozenset({"py", "py3", "pycon", "python", "python3", "ipython", "ipython3"})
_RUN = frozenset({"code-cell", "jupyter-execute", "testcode"})
_WORD = re.compile(r"[\w-]+")
_DIRECTIVE = re.compile(
    r"([ \t]*)\.\.[ \t]+(?:(?:code-block|code|sourcecode)::[ \t]*|(?=jupyter-execute::|testcode::))"
    r"(?P<language>[\w-]*)[^\n]*\Z"
)
_PROMPT = re.compile(r"(?P<indent>[ \t]*)(?P<prompt>>>>|\.\.\.)(?:[ ]|(?=\s*\Z))")


@dataclass(frozen=True, slots=True)
class _BlockLine:
    """A line of a document: its number from 1, the text before the code in it, and the code with the line end."""

    number: int
    prefix: str
    text: str


@lru_cache(maxsize=8)
def read_blocks(path: Path, source: bytes) -> CodeDocument:
    """Read a document. Never raises: one that can't be read has no parts, and a remark that says so."""
    if len(source) > LARGEST:
        return CodeDocument(path, source, remark=f"not looked at: larger than {LARGEST:,} bytes")
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError:
        return CodeDocument(path, source, remark="not looked at: its text is not UTF-8")
    found = _restructured(text) if front_end(path) == RESTRUCTURED else _markdown(text)
    parts = tuple(_part(path, text, rows, is_session) for rows, is_session in found if rows)
    return CodeDocument(path, source, parts, {0: text}, write=partial(_written, text))


def _written(text: str, changes: Sequence[Change]) -> bytes:
    return with_changes(text, changes).encode("utf-8")


def _part(path: Path, text: str, rows: Sequence[_BlockLine], is_session: bool) -> CodePart:
    """A block as a module; its path in the analysis contains the line where it begins."""
    code = python_lines("".join(lines_with_ends("".join(each.text for each in rows))))
    lines = [Line(0, row.number, row.prefix + each.prefix, each.own) for row, each in zip(rows, code, strict=True)]
    name = path.with_name(f"{path.name}:{rows[0].number}")
    prompts = _prompts if is_session else None
    return CodePart(name, path, "".join(each.text for each in code), lines, {0: text}, prompts)


# --- blocks ---------------------------------------------------------------------------------------------


def _markdown(text: str) -> Iterator[tuple[list[_BlockLine], bool]]:
    from trl_lint.launch.parsers.markdown import code_blocks

    for info, block in code_blocks(text):
        words = {each.lower() for each in _WORD.findall(info)[:1]}
        rows = _rows(block)
        if any(_is_first(each) for each in rows):
            yield _session(rows), True
        elif words & (_PYTHON | _RUN):
            yield rows, False


def _restructured(text: str) -> Iterator[tuple[list[_BlockLine], bool]]:
    """The blocks of directives, and sessions anywhere in the text, in order."""
    from trl_lint.launch.parsers.restructured import blocks

    rows = [
        _rows(block) for language, _, block in blocks(Passage.whole(text), _DIRECTIVE) if language in _PYTHON | _RUN
    ]
    code = [each for each in rows if not any(map(_is_first, each))]
    used_lines = {row.number for each in code for row in each}
    free = [_BlockLine(number, "", line) for number, line in enumerate(lines_of(text), 1) if number not in used_lines]
    found = [*((each, False) for each in code), *((each, True) for each in _sessions(free))]
    yield from sorted(found, key=lambda each: each[0][0].number)


def _rows(block: Passage) -> list[_BlockLine]:
    """The lines of a block, with their positions in the file."""
    starts = [0, *accumulate(map(len, lines_of(block.file)))]
    rows, place = [], 0
    for line in lines_of(block.text):
        offset = block.at[place]
        number = bisect_right(starts, offset)
        rows.append(_BlockLine(number, block.file[starts[number - 1] : offset], line))
        place += len(line)
    return rows


# --- sessions -------------------------------------------------------------------------------------------


def _is_first(row: _BlockLine) -> bool:
    """Whether a line begins a statement at a prompt."""
    return row.text.lstrip().startswith(">>>") and _PROMPT.match(row.text) is not None


def _session(rows: Iterable[_BlockLine]) -> list[_BlockLine]:
    """The input of a session, without its prompts and output."""
    found: list[_BlockLine] = []
    is_open = False
    for row in rows:
        prompt = _PROMPT.match(row.text)
        is_open = prompt is not None and (prompt["prompt"] == ">>>" or is_open)
        if prompt is not None and is_open:
            end = prompt.end()
            found.append(_BlockLine(row.number, row.prefix + row.text[:end], row.text[end:]))
    return found


def _sessions(rows: Iterable[_BlockLine]) -> Iterator[list[_BlockLine]]:
    """The sessions among the lines of a document: a session ends where other text follows after a blank line."""
    open_rows: list[_BlockLine] = []
    indent, is_behind_blank = "", False
    for row in rows:
        prompt = _PROMPT.match(row.text)
        if open_rows and row.text.strip() and is_behind_blank and (prompt is None or prompt["indent"] != indent):
            yield _session(open_rows)
            open_rows = []
        if open_rows or _is_first(row):
            indent = indent if open_rows or prompt is None else prompt["indent"]
            open_rows.append(row)
        is_behind_blank = not row.text.strip()
    if open_rows:
        yield _session(open_rows)


def _prompts(code: str) -> list[str]:
    """The prompt before each line of a session's code.

    Raises:
        NotInside: this interpreter cannot parse it.
    """
    found = [">>> "] * len(lines_of(code))
    tree = quiet_ast.parsed(code)
    if tree is None:
        raise NotInside("where its statements begin is not known")
    for each in tree.body:
        first = min([each.lineno, *(one.lineno for one in getattr(each, "decorator_list", ()))])
        last = each.end_lineno or each.lineno
        found[first:last] = ["... "] * (last - first)
    return found
