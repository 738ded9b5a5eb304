"""The programs that are compared: each is small, broken once, and says so itself.

`# cause` marks the line that has to be fixed, `# waits: 1` the line where that rank is left waiting; numbers after
`# cause:` are the ranks that fail there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).with_name("programs")
NAMES = (
    *("branch_on_data", "early_return", "other_order", "fewer_batches", "one_raises"),
    *("ragged_gather", "item_before_gather", "wrapped_attribute", "rank0_metrics", "double_write"),
    "right",
)
_MARK = re.compile(r"# (?P<word>cause|waits)(?:: (?P<ranks>[\d ]+))?$")


@dataclass(frozen=True, slots=True)
class Case:
    """A program.

    Attributes:
        title: What is wrong, in a line.
        cause: The line to fix; 0 for a correct program, which is the control.
        shows: By rank, the line where it fails.
    """

    name: str
    title: str
    cause: int
    shows: dict[int, int]

    @property
    def path(self) -> Path:
        return PROGRAMS / f"{self.name}.py"

    @property
    def is_right(self) -> bool:
        return not self.cause


def cases(text: str = "") -> Iterator[Case]:
    """The programs with the text in their name, in the order of the table."""
    return (read(name) for name in NAMES if text in name)


def read(name: str) -> Case:
    """A case from its program.

    Raises:
        ValueError: it has several causes.
    """
    path = PROGRAMS / f"{name}.py"
    cause, *others = [number for number, mark in _marks(path) if mark["word"] == "cause"] or [0]
    if others:
        raise ValueError(f"{name}: several causes")
    title = path.read_text(encoding="utf-8").splitlines()[0].strip('".')
    return Case(name, title, cause, dict(sorted((places(path, "cause") | places(path, "waits")).items())))


def places(path: Path, word: str) -> dict[int, int]:
    """By rank, the line of a program that has this mark for it."""
    marks = ((number, mark) for number, mark in _marks(path) if mark["word"] == word)
    return {int(rank): number for number, mark in marks for rank in (mark["ranks"] or "").split()}


def _marks(path: Path) -> list[tuple[int, re.Match[str]]]:
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return [(number, mark) for number, line in lines if (mark := _MARK.search(line))]
