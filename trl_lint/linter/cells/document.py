"""A file that contains Python modules as parts: a notebook has one, documentation has one per block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trl_lint.findings import Edit, Finding, Position
from trl_lint.linter.cells.places import Change, CodePart, NotInside, lines_with_ends


@dataclass(frozen=True)
class CodeDocument:
    """A file and its parts.

    Attributes:
        texts: The text that line numbers refer to, per cell (0: the file as a whole).
        remark: Why the file, or a part of it, was not looked at.
        broken: The paths of parts that are not valid Python.
        write: Returns the content of the file with changes applied.
    """

    path: Path
    source: bytes
    parts: tuple[CodePart, ...] = ()
    texts: Mapping[int, str] = field(default_factory=dict)
    remark: str = ""
    broken: frozenset[Path] = frozenset()
    write: Callable[[Sequence[Change]], bytes] | None = None

    @property
    def sound(self) -> Iterator[CodePart]:
        """The parts that can be parsed."""
        return (each for each in self.parts if each.path not in self.broken)

    def changed(self, changes: Sequence[Change]) -> bytes:
        """The content of the file with changes applied."""
        return self.source if self.write is None or not changes else self.write(changes)


def edits_in_file(part: CodePart, finding: Finding) -> tuple[Edit, ...]:
    """The edits of a finding's fix as edits of the file; none if they can't be made in the file."""
    from trl_lint.linter.rewriting.text_edits import edited

    if finding.fix is None:
        return ()
    try:
        changes = part.changes(edited(part.text, finding.fix.edits()))
    except NotInside:
        return ()
    return tuple(_edit(part, each) for each in changes)


def _edit(part: CodePart, change: Change) -> Edit:
    from trl_lint.linter.rewriting.text_edits import smallest

    found = smallest(lines_with_ends(part.texts[change.cell]), change.first, change.last, "".join(change.lines))
    start, end = (Position(each.line, each.column, cell=change.cell) for each in (found.start, found.end))
    return Edit(start, end, found.content)
