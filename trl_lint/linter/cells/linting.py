"""Lint files that contain Python in parts: each part is checked and fixed, and reported at its places in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.findings import Finding, Position
from trl_lint.linter.cells.document import CodeDocument, edits_in_file
from trl_lint.linter.cells.places import Change, CodePart, moved
from trl_lint.linter.cells.reading import document_of
from trl_lint.linter.results import FixResult, SourceError

if TYPE_CHECKING:
    from trl_lint.linter.linter import Linter


def parts_that_matter(linter: Linter, document: CodeDocument) -> list[CodePart]:
    return [each for each in document.sound if linter.may_matter(each.source)]


def check(linter: Linter, document: CodeDocument) -> list[Finding]:
    """The findings in the parts of a file, at places in the file.

    Raises:
        SourceError: a part is not valid Python.
    """
    found: list[Finding] = []
    for part in parts_that_matter(linter, document):
        with_place = partial(in_user_file, linter.documents.parts, part)
        try:
            found += map(with_place, linter.check_code(part.path, part.source))
        except SourceError as error:
            raise error_in_file(part, error) from None
    return found


def in_user_file(parts: Mapping[Path, CodePart], part: CodePart | None, finding: Finding) -> Finding:
    """A finding of a module, with places in the file that the user sees. part: the part that it is in, if any."""
    own = {} if part is None else {str(part.path): part}
    edits = None if part is None else partial(edits_in_file, part)
    return moved(finding, partial(_place_in_file, parts, own), edits)


def _place_in_file(
    parts: Mapping[Path, CodePart], own: Mapping[str, CodePart], path: str, place: Position
) -> tuple[str, Position]:
    part = own.get(path) or parts.get(Path(path))
    return (path, place) if part is None else (str(part.file), part.to_file(place))


def error_in_file(part: CodePart, error: SourceError) -> SourceError:
    """An error in a part, at its place in the file; in a notebook, at the first cell that is not valid Python."""
    place, message = part.to_file(Position(error.line, error.column)), error.message
    broken = broken_cell(part)
    if broken is not None:
        place, message = broken
    return SourceError(str(part.file), place.line, place.column, message, error.verdict, cell=place.cell)


def broken_cell(part: CodePart) -> tuple[Position, str] | None:
    """The first syntax error of a part, cell by cell: its place and message; None if all cells are valid Python."""
    from trl_lint.linter.cells.notebook import cell_of
    from trl_lint.linter.files.sources import python_error

    for number in part.texts:
        text, above = cell_of(part, number) if number else (part.text, 0)
        error = python_error(text.encode("utf-8", "surrogatepass"))
        if error is not None:
            line, column, message = error
            # An error after the end of a cell is reported on its last line.
            line = min(line, max(text.count("\n"), 1))
            return part.to_file(Position(line + above, column)), message
    return None


# --- fixes ----------------------------------------------------------------------------------------------


def fix(linter: Linter, document: CodeDocument, *, unsafe: bool) -> FixResult:
    """Apply the fixes of the parts of a file, with places in the file.

    Raises:
        SourceError: a part is not valid Python.
    """
    from trl_lint.linter.rewriting import fixing

    changes: list[Change] = []
    results: dict[Path, tuple[FixResult, CodePart]] = {}
    for part in parts_that_matter(linter, document):
        try:
            result = fixing.fix(linter, part.path, part.source, unsafe=unsafe)
        except SourceError as error:
            raise error_in_file(part, error) from None
        changes += part.changes(result.source.decode())
        results[part.path] = result, part
    if not results:
        return FixResult(document.source, (), (), ())
    new = document.changed(changes)
    after = document_of(document.path, new, linter.may_matter) if changes else document
    if not _reads_back_as(document, after, results):
        raise AssertionError("a mended file does not hold the mended code")
    return _combined(linter, new, [(*results[old.path], now) for old, now in _pairs(document, after, results)])


def _pairs(
    before: CodeDocument, after: CodeDocument, results: Mapping[Path, object]
) -> Iterator[tuple[CodePart, CodePart]]:
    pairs = zip(before.parts, after.parts, strict=False)
    return ((old, new) for old, new in pairs if old.path in results)


def _reads_back_as(
    before: CodeDocument, after: CodeDocument, results: Mapping[Path, tuple[FixResult, CodePart]]
) -> bool:
    """Whether the written file is read back as intended."""
    return len(before.parts) == len(after.parts) and all(
        new.source == results[old.path][0].source for old, new in _pairs(before, after, results)
    )


def _combined(linter: Linter, source: bytes, results: Sequence[tuple[FixResult, CodePart, CodePart]]) -> FixResult:
    """The result for a file, combined from those of its parts, each before and after."""
    combined = FixResult(source, (), (), ())
    for result, old, new in results:
        # The module keeps the path under which it was analysed, wherever it begins now.
        each = result_in_user_file(linter, result, old, replace(new, path=old.path))
        combined = FixResult(
            source,
            combined.applied + each.applied,
            combined.withheld + each.withheld,
            combined.remaining + each.remaining,
            combined.partly + each.partly,
            combined.uncovered + each.uncovered,
        )
    return combined


def result_in_user_file(
    linter: Linter, result: FixResult, old: CodePart | None = None, new: CodePart | None = None
) -> FixResult:
    """The result of a module's fixes, at places in the user's file. old, new: its part before and after."""
    at_old_place = partial(in_user_file, linter.documents.parts, old)
    at_new_place = partial(in_user_file, linter.documents.parts, new)
    return result._replace(
        applied=tuple(map(at_old_place, result.applied)),
        withheld=tuple((at_new_place(each), reason) for each, reason in result.withheld),
        remaining=tuple(map(at_new_place, result.remaining)),
        partly=tuple(map(at_old_place, result.partly)),
    )
