"""`--add-noqa`: comments that silence what is found today, at the rows where they count and nowhere else."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from trl_lint.findings import Edit, Finding, Position
from trl_lint.launch.parsers import readers
from trl_lint.linter.directives import CommentForm, Directive
from trl_lint.linter.linter import Linter
from trl_lint.linter.mending_comments import edited
from trl_lint.linter.runner import FileResult, check
from trl_lint.linter.stale import python_comments
from trl_lint.linter.suppressions import Comments, source_lines
from trl_lint.linter.writing import write_back

_Span = tuple[int, int]


def annotate(linter: Linter, path: Path, source: bytes) -> FileResult:
    """Silence what is found in a file, in place.

    Returns:
        What was silenced as `applied`, and what could not be as `findings`, and as `withheld` with the reason.
    """
    result = check(linter, path, source)
    if not result.findings:
        return result
    new, withheld = noted(path, source, result.findings)
    problem = write_back(path, source, new, linter.roots, "no comments added") if new != source else None
    if problem:
        return replace(result, problem=problem)
    left = tuple(finding for finding, _ in withheld)
    done = tuple(each for each in result.findings if each not in left)
    silenced = result.silenced + len(done)
    return replace(
        result, source=new, before=source, findings=left, applied=done, withheld=tuple(withheld), silenced=silenced
    )


def noted(path: Path, source: bytes, found: Sequence[Finding]) -> tuple[bytes, list[tuple[Finding, str]]]:
    """A text with comments that silence these findings, and those that no comment can silence, with the reason."""
    places = Comments(source, path)
    if places.cells is not None:
        return _noted_in_cells(path, source, places, found)
    groups: dict[_Span, list[Finding]] = {}
    for each in found:
        groups.setdefault(places.span_of(each), []).append(each)
    new = source
    withheld: list[tuple[Finding, str]] = []
    for span, findings in sorted(groups.items()):
        text, reason = _with_comment(path, new, span, findings)
        if reason:
            withheld += [(each, reason) for each in findings]
        else:
            new = text
    if _python_tree(path, source) != _python_tree(path, new):
        return source, [(each, "a comment would change what the code does") for each in found]
    return new, withheld


def _noted_in_cells(
    path: Path, source: bytes, comments: Comments, found: Sequence[Finding]
) -> tuple[bytes, list[tuple[Finding, str]]]:
    """The same for a notebook, whose cells are one module."""
    from trl_lint.linter.cells.notebook import opened
    from trl_lint.linter.cells.places import NotInside

    part = comments.cells
    assert part is not None
    own = {comments.inside(each): each for each in found}
    new, withheld = noted(path.with_suffix(".py"), part.source, list(own))
    left = [(own[each], reason) for each, reason in withheld]
    try:
        changes = part.changes(new.decode("utf-8", "surrogatepass"))
    except NotInside as reason:
        return source, [(each, str(reason)) for each in found]
    return opened(path, source).changed(changes), left


def silencing(path: Path, source: bytes, finding: Finding) -> Edit | None:
    """The edit that silences a finding with a comment; None where there is no room for one."""
    comments = Comments(source, path)
    edit = _edit_of(path, source, comments, comments.span(finding.start.line, finding.end.line), [finding.code])
    return edit if isinstance(edit, Edit) else None


def _edit_of(path: Path, source: bytes, comments: Comments, span: _Span, codes: Sequence[str]) -> Edit | str:
    """The edit that puts these codes into a comment for some lines, or why there is none."""
    there = next((each for each in comments.around(span) if each.form is CommentForm.LINE), None)
    if there is None:
        edit = _appended(path, source, span[1], f"# noqa: {', '.join(codes)}")
    elif not _is_comment(comments, source, there):
        return "a string there looks like the comment that would silence it"
    else:
        edit = _merged(there, codes)
    return edit or "there is no room for a comment at the end of its last line"


def _with_comment(path: Path, source: bytes, span: _Span, findings: Sequence[Finding]) -> tuple[bytes, str]:
    """The text with a comment for these lines, and why there is none ("" where there is one)."""
    comments = Comments(source, path)
    edit = _edit_of(path, source, comments, span, sorted({each.code for each in findings}))
    if isinstance(edit, str):
        return source, edit
    new = edited(source, [edit])
    if not comments.is_python and not _starts_the_same(path, source, new):
        return source, "a comment would change what is run"
    if not all(Comments(new, path).silence(each) for each in findings):
        return source, "no comment at the end of its line is read"
    return new, ""


def _is_comment(comments: Comments, source: bytes, found: Directive) -> bool:
    """Whether what looks like a comment is one, and not a part of a string."""
    if not comments.is_python:
        return True
    return any(
        number == found.line and column <= found.start < column + len(text)
        for number, column, text in python_comments(source)
    )


def _merged(there: Directive, codes: Sequence[str]) -> Edit | None:
    """The edit that adds codes to those that a comment names, in front of its reason."""
    if not there.words:
        return None
    place = Position(there.line, there.words[-1].end + 1)
    return Edit(place, place, "".join(f", {code}" for code in codes))


def _appended(path: Path, source: bytes, number: int, comment: str) -> Edit | None:
    """The edit that puts a comment at the end of a line; None where the next line goes on with it."""
    line = source_lines(source)[number - 1].rstrip("\n")
    code = line.rstrip()
    if code.endswith("\\"):
        return None
    return Edit(Position(number, len(code) + 1), Position(number, len(line) + 1), f"  {comment}")


def _starts_the_same(path: Path, before: bytes, after: bytes) -> bool:
    """Whether a file of launch commands has the same ones still."""
    old, new = readers.read(path, before), readers.read(path, after)
    return old.problem == new.problem and list(_words(old)) == list(_words(new))


def _words(reading: readers.Reading) -> Iterator[tuple[str | None, ...]]:
    for command in reading.commands:
        yield tuple(word.raw if word.value is None else word.value for word in command.words)


def _python_tree(path: Path, source: bytes) -> str:
    """What stands for the meaning of Python code; "" for what is none, and for what can't be read by this Python."""
    if readers.is_launch_file(path, source):
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the user's code, and not asked for
            return ast.dump(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
