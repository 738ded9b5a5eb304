"""A Python module that is part of a file: its text, and where each of its lines is in the file.

The linter sees only the text. `CodePart.to_file` and `CodePart.to_module` translate positions, `moved` a whole finding,
and `CodePart.changes` computes what a fixed text changes in the file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path

from trl_lint import quiet_ast
from trl_lint.findings import Edit, Finding, Fix, Guard, Note, Position, Related
from trl_lint.linter.decoding import lines_of
from trl_lint.linter.rewriting.hunks import Hunk, hunks

# The prompt of a Python session, at the end of the text before a line.
_PROMPT = re.compile(r"(?:>>>|\.\.\.) ?\Z")


class NotInside(Exception):
    """A change of a module's text that can't be made in the file; the message says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """Where a line of a module is.

    Attributes:
        cell: The cell that contains it; 0 if the file has none.
        number: The line in that cell, from 1.
        prefix: The text before it there.
        own: Whether the file contains it unchanged; other lines must not be changed.
        is_mark: Whether it is not in the file, and only separates two cells.
    """

    cell: int
    number: int
    prefix: str = ""
    own: bool = True
    is_mark: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """Replace the lines from `first` to before `last`, counted from 0, of a cell (0: of the file)."""

    cell: int
    first: int
    last: int
    lines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CodePart:
    """A Python module in a file.

    Attributes:
        path: How the analysis refers to it.
        file: The file that contains it.
        texts: The text that line numbers refer to, per cell.
    """

    path: Path
    file: Path
    text: str
    lines: Sequence[Line]
    texts: Mapping[int, str]
    # For a session with prompts: the prompt before each line of a given code.
    prompts: Callable[[str], Sequence[str]] | None = None

    @cached_property
    def source(self) -> bytes:
        # Lone surrogates, which JSON may contain, are left for the parser to report.
        return self.text.encode("utf-8", "surrogatepass")

    def to_file(self, place: Position) -> Position:
        """The place in the file of a place in the module; after its end, relative to its last line."""
        if not self.lines:
            return place
        line = self.lines[min(place.line, len(self.lines)) - 1]
        beyond = max(place.line - len(self.lines), 0)
        return Position(line.number + beyond, place.column + len(line.prefix) * (not beyond), cell=line.cell)

    def to_module(self, place: Position) -> Position | None:
        """The place in the module of a place in the file; None if that line is not part of the module."""
        line = self._by_place.get((place.cell, place.line))
        if line is None:
            return None
        return Position(line + 1, max(place.column - len(self.lines[line].prefix), 1))

    @cached_property
    def _by_place(self) -> dict[tuple[int, int], int]:
        return {(each.cell, each.number): at for at, each in enumerate(self.lines) if not each.is_mark}

    def changes(self, new: str) -> tuple[Change, ...]:
        """The changes of the file that turn its module into `new`.

        Raises:
            NotInside: they would change a line that is not the module's own, or cannot be assigned to cells.
        """
        return _Changes(self, new).found()


class _Changes:
    """Finds the lines of a file that have to change for its module to get another text."""

    def __init__(self, part: CodePart, new: str) -> None:
        self.part = part
        self.old = lines_of(part.text)
        self.new = lines_of(new)
        self.hunks = self._hunks()
        self.prompts = part.prompts(new) if part.prompts is not None else None
        self.changed_cells = {part.lines[at].cell for each in self.hunks for at in range(each.first, each.last)}

    def found(self) -> tuple[Change, ...]:
        return tuple(self._inserted(each) if each.first == each.last else self._replaced(each) for each in self.hunks)

    def _hunks(self) -> list[Hunk]:
        """The differences between lines that stay as they are, so that equal lines elsewhere are not matched.

        These lines are the ones that are not plain Python or, if other lines have such a text, the marks of the cells.
        """
        lines = self.part.lines
        for kept in ([not each.own for each in lines], [each.is_mark for each in lines]):
            found = self._hunks_between([at for at, stays in enumerate(kept) if stays])
            if found is not None:
                return found
        return hunks(self.old, self.new)

    def _hunks_between(self, places: list[int]) -> list[Hunk] | None:
        """The differences between the lines at these places; None if it is not clear where they are in the new text."""
        texts = {self.old[at] for at in places}
        kept = [at for at, line in enumerate(self.new) if line in texts]
        if [self.old[at] for at in places] != [self.new[at] for at in kept]:
            return None
        bounds = zip(pairwise([0, *places, len(self.old)]), pairwise([0, *kept, len(self.new)]), strict=True)
        return [
            Hunk(first + each.first, first + each.last, start + each.start, start + each.end)
            for (first, last), (start, end) in bounds
            for each in hunks(self.old[first:last], self.new[start:end])
        ]

    def _replaced(self, hunk: Hunk) -> Change:
        lines = self.part.lines[hunk.first : hunk.last]
        if not all(each.own for each in lines):
            raise NotInside("it would change a line that is not plain Python")
        first, last = lines[0], lines[-1]
        # Lines that are adjacent in the module may have others between them in the file, such as output.
        if last.cell != first.cell or last.number - first.number != len(lines) - 1:
            raise NotInside("it would change several parts of the file at once")
        prefixes = [each.prefix for each in lines if each.prefix] or [first.prefix]
        return self._change(hunk, first.cell, first.number - 1, last.number, prefixes)

    def _inserted(self, hunk: Hunk) -> Change:
        """Insert new lines next to lines that are the module's own."""
        below = self._belongs_below(hunk)
        lines = self.part.lines
        if below is None:
            raise NotInside("there is no line of Python next to it")
        if below:
            line = lines[self._own_line_after(hunk.first)]
            return self._change(hunk, line.cell, line.number - 1, line.number - 1, [line.prefix])
        line = lines[self._own_line_before(hunk.first)]
        if self.prompts is not None and _is_filled(self.part.texts[line.cell], line.number):
            raise NotInside("it would separate a line from its output")
        return self._change(hunk, line.cell, line.number, line.number, [line.prefix])

    def _belongs_below(self, hunk: Hunk) -> bool | None:
        """Whether new lines go before the next Python line, not after the last one; None: there is no such line."""
        above, below = self._own_line_before(hunk.first), self._own_line_after(hunk.first)
        lines = self.part.lines
        if above < 0 or below >= len(lines):
            return above < 0 if above >= 0 or below < len(lines) else None
        if lines[above].cell == lines[below].cell and above + 1 == hunk.first:
            return self.prompts is not None and lines[below].number != lines[above].number + 1
        if lines[above].cell == lines[below].cell or above + 1 < hunk.first:
            return True
        content = self.new[hunk.start : hunk.end]
        if next((each for each in content if each.strip()), "")[:1].isspace():
            return False  # the end of a block
        if _imports("".join(content)):
            return not _ends_with_import(self.part.texts[lines[above].cell])
        return lines[below].cell in self.changed_cells or lines[above].cell not in self.changed_cells

    def _own_line_before(self, at: int) -> int:
        return next((each for each in range(at - 1, -1, -1) if self.part.lines[each].own), -1)

    def _own_line_after(self, at: int) -> int:
        total = len(self.part.lines)
        return next((each for each in range(at, total) if self.part.lines[each].own), total)

    def _change(self, hunk: Hunk, cell: int, first: int, last: int, prefixes: Sequence[str]) -> Change:
        lines = []
        for count, at in enumerate(range(hunk.start, hunk.end)):
            prefix = prefixes[min(count, len(prefixes) - 1)]
            if self.prompts is not None:
                prefix = _PROMPT.sub("", prefix) + self.prompts[at]
            line = self.new[at]
            lines.append(prefix + line if line.strip() else prefix.rstrip() + line)
        return Change(cell, first, last, tuple(lines))


def _is_filled(text: str, number: int) -> bool:
    """Whether the line after a given one is not blank."""
    return bool("".join(lines_of(text)[number : number + 1]).strip())


def _imports(code: str) -> bool:
    tree = quiet_ast.parsed(code)
    body = tree.body if tree is not None else ()
    return bool(body) and all(isinstance(each, ast.Import | ast.ImportFrom) for each in body)


def _ends_with_import(cell: str) -> bool:
    """Whether the last statement of a cell is an import, as far as Python can parse it."""
    from trl_lint.linter.cells.ipython import python_lines

    tree = quiet_ast.parsed("".join(each.text for each in python_lines(cell)))
    return tree is not None and bool(tree.body) and isinstance(tree.body[-1], ast.Import | ast.ImportFrom)


def with_changes(text: str, changes: Sequence[Change]) -> str:
    """The text with changes applied; whether it ends with a line end stays the same."""
    lines = lines_with_ends(text)
    for each in last_first(changes):
        lines[each.first : each.last] = each.lines
    new = "".join(lines)
    is_ended = not text or text[-1] in "\r\n"
    return new if is_ended else new.removesuffix("\n").removesuffix("\r")


def last_first(changes: Sequence[Change]) -> list[Change]:
    """The changes in an order in which they can be applied one by one: from the end, insertions after replacements."""
    return sorted(reversed(changes), key=lambda each: (each.first, each.last), reverse=True)


def lines_with_ends(text: str) -> list[str]:
    """The lines of a text; a line end is added to the last one if needed."""
    lines = lines_of(text)
    if lines and lines[-1][-1] not in "\r\n":
        lines[-1] += "\r\n" if lines[0].endswith("\r\n") else "\n"
    return lines


# --- findings -------------------------------------------------------------------------------------------

# Translates a place in a finding: takes its path and position, returns the new path and position.
Move = Callable[[str, Position], tuple[str, Position]]


def moved(finding: Finding, move: Move, edits: Callable[[Finding], tuple[Edit, ...]] | None = None) -> Finding:
    """A finding with all its places translated. edits: returns the translated edits of its fix."""
    fix = finding.fix and _fix(finding, finding.fix, move, edits)
    path, start = move(finding.path, finding.start)
    return replace(
        finding,
        path=path,
        start=start,
        end=move(finding.path, finding.end)[1],
        because=moved_notes(finding.because, move),
        fix=fix,
        also=tuple(_related(each, move) for each in finding.also),
        branches=tuple(move(finding.path, each)[1] for each in finding.branches),
        guard=finding.guard and _guard(finding.guard, move),
    )


def _guard(guard: Guard, move: Move) -> Guard:
    path, start = move(guard.path, guard.start)
    return guard._replace(path=path, start=start, end=move(guard.path, guard.end)[1])


def _fix(finding: Finding, fix: Fix, move: Move, edits: Callable[[Finding], tuple[Edit, ...]] | None) -> Fix:
    built = fix.edits if edits is None else partial(edits, finding)
    return replace(fix, edits=built, conditions=moved_notes(fix.conditions, move))


def moved_notes(notes: Iterable[Note], move: Move) -> tuple[Note, ...]:
    """The notes with their places translated."""
    places = ((each, move(each.path, each.start)) for each in notes)
    return tuple(each._replace(path=path, start=start) for each, (path, start) in places)


def _related(related: Related, move: Move) -> Related:
    path, start = move(related.path, related.start)
    return related._replace(path=path, start=start)
