"""The code of a notebook's cell as plain Python: what only IPython understands becomes a comment.

    %pip install trl            # %pip install trl
    files = !ls                 files = get_ipython()  # !ls
    %time trainer.train()       trainer.train()
    trainer?                    # trainer?

The number of lines stays the same. IPython lines are recognised as IPython itself does it: by how they begin, where a
statement may begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trl_lint.analysis.program.project.source_text import end_of_long
from trl_lint.linter.decoding import lines_of

# Cell magics whose body is Python that runs in the notebook. The body of any other one is not its code.
RUN_PYTHON = frozenset({"capture", "debug", "ipytest", "memit", "prun", "scalene", "time", "timeit", "wandb"})
_CELL_MAGIC = re.compile(r"%%(\w*)")
# The prompt before the lines of a pasted session.
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?: |(?=\s*\Z))")
_BLANKS = re.compile(r"[ \t]*")
# Line magics that run the code after them, with their options.
_RUNNING = re.compile(r"[ \t]*(%(?:memit|prun|time|timeit)[ \t]+(?:-\w+[ \t]*\d*[ \t]+)*)(?=[^\s-])")
# `!ls`, `%cd ..`, `?name` and `name?`; and magics without their `%` that cannot be valid Python.
_MAGIC = re.compile(
    r"[ \t]*(?:[%!?]"
    r"|%{0,2}[A-Za-z_*][\w*]*(?:\.[A-Za-z_*][\w*]*|\[\d+\])*\?\??[ \t]*(?:\#.*)?\s*\Z"
    r"|(?:pip|conda|mamba|uv|cd|mkdir|cp|mv|rm|cat)[ \t]+(?:-[\w-]+[ \t]+)*"
    r"(?!(?:and|else|for|if|in|is|not|or)\b)[\w~./])"
)
_ASSIGNED = re.compile(r"([ \t]*[A-Za-z_][\w., \t\[\]*\"'()]*=[ \t]*)(?=[%!])")
# Replaces the value that a magic returns, which is unknown.
_UNKNOWN = "get_ipython()"
_PIECE = re.compile(
    r"""(?P<long>\"{3}|'{3})|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\#[^\r\n]*"""
    r"""|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<joined>\\\r?\n)""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line as Python reads it. prefix: the text before it in the cell. own: whether the cell has it unchanged."""

    text: str
    prefix: str = ""
    own: bool = True


def python_lines(cell: str) -> list[CodeLine]:
    """The lines of a cell as plain Python, one for each original line."""
    lines = lines_of(cell)
    start = 0
    while start < len(lines):
        magic = _CELL_MAGIC.match(lines[start])
        if magic is None and lines[start].strip():
            break
        if magic is not None and magic[1] not in RUN_PYTHON:
            start = len(lines)
        start += 1
    head = [CodeLine(each) if not each.strip() else _comment(each) for each in lines[:start]]
    return [*head, *_body(lines[start:])]


def _body(lines: Sequence[str]) -> Iterator[CodeLine]:
    """The lines below the cell magics, without the indentation of the whole cell or the prompts of a pasted session."""
    first = next((each for each in lines if each.strip()), "")
    leading = _PROMPT if first.lstrip().startswith(">>>") else re.compile(re.escape(_blanks(first)))
    reading, joined = _Reading(), False
    for line in lines:
        found = leading.match(line)
        prefix = found[0] if found else ""
        text = line[len(prefix) :]
        if joined:
            code_line = _comment(text)
        elif reading.is_at_start and _may_be_magic(text):
            code_line = _translated(text)
        else:
            code_line = CodeLine(text)
        joined = code_line.own is False and _continues(text)
        if code_line.own or not code_line.text.lstrip().startswith("#"):
            reading.scan(code_line.text)
        yield CodeLine(code_line.text, prefix + code_line.prefix, code_line.own)


def _may_be_magic(text: str) -> bool:
    return _MAGIC.match(text) is not None or _ASSIGNED.match(text) is not None


def _translated(text: str) -> CodeLine:
    """A line that only IPython understands, as plain Python."""
    indent = _blanks(text)
    running = _RUNNING.match(text)
    if running is not None:
        return CodeLine(indent + text[running.end() :], running[1], own=False)
    assigned = _ASSIGNED.match(text)
    if assigned is not None:
        return CodeLine(f"{assigned[1]}{_UNKNOWN}  # {text[assigned.end() :]}", own=False)
    return CodeLine(f"{indent}pass  # {text[len(indent) :]}", own=False) if indent else _comment(text)


def _comment(text: str) -> CodeLine:
    return CodeLine(f"# {text}", own=False)


def _continues(text: str) -> bool:
    """Whether a magic continues in the next line."""
    return text.rstrip("\r\n").endswith("\\")


def _blanks(text: str) -> str:
    found = _BLANKS.match(text)
    return found[0] if found else ""


class _Reading:
    """Scans code line by line: whether the next line begins a statement, or is inside brackets or a string."""

    def __init__(self) -> None:
        self._quotes = ""
        self._depth = 0
        self._joined = False

    @property
    def is_at_start(self) -> bool:
        return not (self._quotes or self._depth or self._joined)

    def scan(self, line: str) -> None:
        """Scan a line."""
        place, self._joined = 0, False
        while place < len(line):
            if self._quotes:
                place = end_of_long(line, place, self._quotes)
                if place < 0:
                    return
                self._quotes = ""
            piece = _PIECE.search(line, place)
            if piece is None:
                return
            place = piece.end()
            self._quotes = piece["long"] or ""
            self._depth = max(0, self._depth + bool(piece["open"]) - bool(piece["close"]))
            self._joined = piece["joined"] is not None
