"""`--add-noqa`: add comments that silence the current findings, only on the lines where they take effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint import quiet_ast
from trl_lint.findings import Edit, Finding, Position
from trl_lint.linter.comments.directives import CommentForm, Directive
from trl_lint.linter.comments.hash_comments import runs_the_same
from trl_lint.linter.comments.suppressions import Comments
from trl_lint.linter.files.writing import write_back
from trl_lint.linter.linter import Linter
from trl_lint.linter.runner import FileResult, check
from trl_lint.linter.suppression.comment_fixes import edited
from trl_lint.linter.suppression.unused_noqa import python_comments

if TYPE_CHECKING:
    from trl_lint.linter.cells.places import CodePart

_Span = tuple[int, int]


def annotate(linter: Linter, path: Path, source: bytes) -> FileResult:
    """Silence the findings of a file, in place.

    Returns:
        What was silenced as `applied`, and what could not be as `findings`, and as `withheld` with the reason.
    """
    result = check(linter, path, source)
    if not result.findings:
        return result
    new, withheld = with_noqa_comments(path, source, result.findings)
    problem = write_back(path, source, new, linter.roots, "no comments added") if new != source else None
    if problem:
        return result._replace(problem=problem)
    left = tuple(finding for finding, _ in withheld)
    done = tuple(each for each in result.findings if each not in left)
    silenced = result.silenced + len(done)
    return result._replace(
        source=new, before=source, findings=left, applied=done, withheld=tuple(withheld), silenced=silenced
    )


def with_noqa_comments(path: Path, source: bytes, found: Sequence[Finding]) -> tuple[bytes, list[tuple[Finding, str]]]:
    """A text with comments that silence these findings, and those that no comment can silence, with the reason."""
    text = _Commented(path, source)
    if text.comments.cells is not None:
        return _with_comments_in_cells(path, source, text.comments, found)
    blocks, source, withheld = _with_comments_in_blocks(path, source, text.comments, found)
    if blocks:
        text, found = _Commented(path, source), [each for each in found if each not in blocks]
    finding_at = {place: each for each in found for place in _places(each)}
    groups: dict[_Span, list[Finding]] = {}
    for place in finding_at:
        groups.setdefault(text.comments.span_of(place), []).append(place)
    plans: list[tuple[list[Finding], Edit]] = []
    reasons: dict[Finding, str] = {}
    for span, places in sorted(groups.items()):
        edit = text.edit(span, sorted({each.code for each in places}))
        if isinstance(edit, Edit):
            plans.append((places, edit))
        else:
            reasons |= {finding_at[each]: edit for each in places}
    if text.reason_against(plans):
        passing: list[tuple[list[Finding], Edit]] = []
        for plan in plans:  # all together do not pass, so try each by itself
            reason = text.reason_against([*passing, plan])
            if reason:
                reasons |= {finding_at[each]: reason for each in plan[0]}
            else:
                passing.append(plan)
        plans = passing
    return text.after(plans), [*withheld, *reasons.items()]


def _places(finding: Finding) -> Iterator[Finding]:
    """A finding, and a finding by itself for each other place in its file that is told with it.

    A comment at the first place says nothing of the others: they would be the next finding.
    """
    yield finding
    for each in finding.also:
        if each.path == finding.path:
            yield Finding(each.code, finding.name, each.message, each.path, each.start, each.start)


def _with_comments_in_cells(
    path: Path, source: bytes, comments: Comments, found: Sequence[Finding]
) -> tuple[bytes, list[tuple[Finding, str]]]:
    """The same for a notebook, whose cells are one module, with shell commands between the lines."""
    from trl_lint.linter.cells.notebook import read_notebook
    from trl_lint.linter.cells.places import NotInside

    part = comments.cells
    assert part is not None
    original_of = {comments.inside(each): each for each in found if comments.is_own(comments.span_of(each)[1])}
    new, withheld = with_noqa_comments(path.with_suffix(".py"), part.source, list(original_of))
    left = [(original_of[each], reason) for each, reason in withheld]
    try:
        current = read_notebook(path, source).changed(part.changes(new.decode("utf-8", "surrogatepass")))
    except NotInside as error:
        current, left = source, [(each, str(error)) for each in original_of.values()]
    for each in found:
        if each not in original_of.values():
            current, reason = _with_comment_in_command(path, current, each)
            left += [(each, reason)] * bool(reason)
    return current, left


def _with_comments_in_blocks(
    path: Path, source: bytes, comments: Comments, found: Sequence[Finding]
) -> tuple[set[Finding], bytes, list[tuple[Finding, str]]]:
    """The findings in blocks of documentation, and the same for these; each block is a separate module."""
    from trl_lint.linter.cells.places import Change, NotInside

    by_part: dict[CodePart, dict[Finding, Finding]] = {}
    for each in found:
        block = comments.block_of(each)
        if block is not None:
            by_part.setdefault(block[0], {})[block[1]] = each
    if not by_part:
        return set(), source, []
    from trl_lint.linter.cells.blocks import read_blocks

    changes: list[Change] = []
    withheld: list[tuple[Finding, str]] = []
    for part, own in by_part.items():
        new, left = with_noqa_comments(part.path.with_suffix(".py"), part.source, list(own))
        try:
            changes += part.changes(new.decode("utf-8"))
            withheld += [(own[each], reason) for each, reason in left]
        except NotInside as error:
            withheld += [(each, str(error)) for each in own.values()]
    mine = {each for own in by_part.values() for each in own.values()}
    return mine, read_blocks(path, source).changed(changes), withheld


def _with_comment_in_command(path: Path, source: bytes, finding: Finding) -> tuple[bytes, str]:
    """A notebook with a comment after a shell command, and why there is none ("" if there is one)."""
    from trl_lint.linter.cells.notebook import read_notebook
    from trl_lint.linter.cells.places import Change

    comments = Comments(source, path)
    if comments.silence(finding):  # another finding on its line was silenced
        return source, ""
    lines = comments.lines_of(finding)
    number = finding.end.line
    code = lines[number - 1].rstrip()
    end = lines[number - 1][len(lines[number - 1].rstrip("\n")) :]
    if code.endswith("\\"):
        return source, "there is no room for a comment at the end of its last line"
    change = Change(finding.end.cell, number - 1, number, (f"{code}  # noqa: {finding.code}{end}",))
    new = read_notebook(path, source).changed([change])
    if not runs_the_same(path, source, new):
        return source, "a comment would change what is run"
    return (new, "") if Comments(new, path).silence(finding) else (source, "comments on its line are not read")


def silencing_edit(path: Path, source: bytes, finding: Finding) -> Edit | None:
    """The edit that silences a finding with a comment; None if there is no room for one."""
    text = _Commented(path, source)
    part, span = text.comments.cells, text.comments.span_of(finding)
    if part is not None:
        if not text.comments.is_own(span[1]):  # a shell command
            return None
        inside = silencing_edit(path.with_suffix(".py"), part.source, text.comments.inside(finding))
        return inside and Edit(part.to_file(inside.start), part.to_file(inside.end), inside.content)
    block = text.comments.block_of(finding)
    if block is not None:
        return _silencing_edit_in(*block)
    edit = text.edit(span, [finding.code])
    return edit if isinstance(edit, Edit) else None


def _silencing_edit_in(part: CodePart, finding: Finding) -> Edit | None:
    """The same in a block of documentation; finding: at its place in the block."""
    found = silencing_edit(part.path.with_suffix(".py"), part.source, finding)
    if found is None or not part.lines[found.start.line - 1].own:
        return None
    return found._replace(start=part.to_file(found.start), end=part.to_file(found.end))


class _Commented:
    """A text to which comments are added."""

    def __init__(self, path: Path, source: bytes) -> None:
        self.path = path
        self.source = source
        self.comments = Comments(source, path)

    def after(self, plans: Sequence[tuple[list[Finding], Edit]]) -> bytes:
        return edited(self.source, [edit for _, edit in plans])

    def edit(self, span: _Span, codes: Sequence[str]) -> Edit | str:
        """The edit that silences these lines, or why there is none."""
        there = next((each for each in self.comments.around(span) if each.form is CommentForm.LINE), None)
        if there is None:
            appended = self._appended(span[1], f"# noqa: {', '.join(codes)}")
            return appended or "there is no room for a comment at the end of its last line"
        if not there.words or not self._is_comment(there):
            return "a string there looks like a comment that silences it"
        place = Position(there.line, there.words[-1].end + 1)  # before a reason
        return Edit(place, place, "".join(f", {code}" for code in codes))

    def reason_against(self, plans: Sequence[tuple[list[Finding], Edit]]) -> str:
        """Why the text must not be written with these comments; "" if it may be."""
        new = self.after(plans)
        if not self.comments.is_python and not runs_the_same(self.path, self.source, new):
            return "a comment would change what is run"
        if self.comments.is_python and _python_tree(self.source) != _python_tree(new):
            return "a comment would change what the code does"
        comments = Comments(new, self.path)
        if not all(comments.silence(each) for findings, _ in plans for each in findings):
            return "comments on its line are not read"
        return ""

    def _is_comment(self, found: Directive) -> bool:
        """Whether what looks like a comment is one, and not part of a string."""
        return not self.comments.is_python or any(
            number == found.line and column <= found.start < column + len(text)
            for number, column, text in python_comments(self.source)
        )

    def _appended(self, number: int, comment: str) -> Edit | None:
        """The edit that appends a comment to a line; None if the next line continues it."""
        line = self.comments.lines[number - 1].rstrip("\n")
        code = line.rstrip()
        if code.endswith("\\"):
            return None
        return Edit(Position(number, len(code) + 1), Position(number, len(line) + 1), f"  {comment}")


def _python_tree(source: bytes) -> str:
    """A representation of the meaning of Python code; "" if this Python can't parse it."""
    tree = quiet_ast.parsed(source)
    try:
        return ast.dump(tree) if tree is not None else ""
    except (RecursionError, MemoryError):
        return ""
