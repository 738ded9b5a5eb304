"""Process many files: read each, lint or fix it, drop silenced findings, and let no file stop the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from trl_lint import files
from trl_lint.findings import Finding
from trl_lint.launch.parsers.readers import NOTEBOOK, front_end, unread
from trl_lint.linter.comments.presence import may_silence
from trl_lint.linter.files.discovery import PathProblem, display_path
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import SourceError


class FileResult(NamedTuple):
    """The result for one file.

    Attributes:
        source: The content of the file, which the places of `findings` refer to.
        findings: The findings that remain.
        applied, partly: Findings at places in `before` that are gone, or fixed in part.
        before: The content that was read, if it is not `source`.
        problem: A line for the user if the tool could not do its work.
        note: A line about what was not looked at, which is no failure.
        uncovered: How many of the remaining findings were not visible in `before`.
        relevant: Whether any rule concerns it; other files are not analysed.
        understood: Whether all of it could be read and parsed.
        passed_over: Whether nothing was linted, and there is only a note.
        silenced, hidden: How many further findings comments silence, and a baseline hides.
    """

    path: Path
    source: bytes = b""
    findings: tuple[Finding, ...] = ()
    applied: tuple[Finding, ...] = ()
    withheld: tuple[tuple[Finding, str], ...] = ()
    before: bytes | None = None
    problem: str | None = None
    note: str | None = None
    partly: tuple[Finding, ...] = ()
    uncovered: int = 0
    relevant: bool = True
    understood: bool = True
    passed_over: bool = False
    silenced: int = 0
    hidden: int = 0


Action = Callable[[Linter, Path, bytes], FileResult]


def run(
    items: Iterable[Path | PathProblem], linter: Linter, action: Action, named: Container[Path] = ()
) -> Iterator[FileResult]:
    """The result of `action` for every file, in order.

    named: absolute paths that the user named one by one; see `run_one`.

    All files are analysed before the first is reported: what one file means for another must not depend on their order.
    """
    read = [_read(item, linter, named) for item in items]
    linter.pass_over(result.path for result in read if not result.relevant and result.problem is result.note is None)
    linter.prepare((result.path, result.source) for result in read if result.relevant and result.source)
    passed_over = linter.passed_over_with_findings()
    for result in read:
        if result.path in passed_over and not result.relevant:
            yield _run_action(result.path, passed_over[result.path], linter, action)
        elif result.relevant and result.source:
            yield _run_relevant(result.path, result.source, linter, action, named=result.path in named)
        elif result.source:
            yield run_one(result.path, result.source, linter, action, named=result.path in named)
        else:
            yield result


def _read(item: Path | PathProblem, linter: Linter, named: Container[Path]) -> FileResult:
    """A file with its content (dropped if it does not matter), or a problem to report instead."""
    if isinstance(item, PathProblem):
        message = f"{display_path(item.path)}: {_one_line(item.message)}"
        if item.passed_over:
            return FileResult(item.path, note=message, passed_over=True)
        return FileResult(item.path, problem=message, understood=False)
    # The analysis looks for packages around the file, so it needs the real location.
    path = Path(os.path.abspath(item))
    is_named = path in named
    try:
        remark = unread(path)
        if remark is not None:
            return _unread(path, remark, linter, is_named=is_named)
        source = files.read(path)
    except OSError as error:
        return FileResult(path, problem=f"{display_path(path)}: cannot read: {error.strerror}", understood=False)
    relevant = linter.matters(path, source)
    if not relevant:
        linter.heirs.skim(path, source)
    is_kept = relevant or is_named or _has_comments_to_judge(linter, path, source)
    return FileResult(path, source if is_kept else b"", relevant=relevant)


def _unread(path: Path, remark: str, linter: Linter, *, is_named: bool) -> FileResult:
    """A file that is too large to be read, as `remark` says; `remark` is "" if no rule concerns it."""
    if not remark or not (linter.looks_for_launches or front_end(path) == NOTEBOOK):
        return FileResult(path, relevant=False)
    message = f"{display_path(path)}: {_one_line(remark)}"
    if is_named:
        return FileResult(path, problem=message, understood=False)
    return FileResult(path, note=message, understood=False)


def run_one(path: Path, source: bytes, linter: Linter, action: Action, *, named: bool = False) -> FileResult:
    """The result of `action` for one content; any failure is part of the result.

    named: the user named this very file, so it is a problem if it can't be understood, even if nothing in it could
    matter.
    """
    path = Path(os.path.abspath(path))
    if not linter.matters(path, source):
        problem = _problem_of(path, source) if named else None
        if problem is None and _has_comments_to_judge(linter, path, source):
            linter.comments.silent.add(path)
            result = _run_action(path, source, linter, action)
            return result._replace(relevant=bool(result.findings or result.applied))
        return FileResult(path, source, problem=problem, relevant=False, understood=problem is None)
    return _run_relevant(path, source, linter, action, named=named)


def _run_relevant(path: Path, source: bytes, linter: Linter, action: Action, *, named: bool) -> FileResult:
    """The result of `action` for a content that matters; see `run_one`."""
    result = _run_action(path, source, linter, action)
    if result.note is None:
        # The launch commands of a notebook were checked; no rule may concern its code.
        problem = _problem_of(path, source) if named and not result.problem and front_end(path) == NOTEBOOK else None
        return result if problem is None else result._replace(problem=problem, understood=False)
    if named:
        return result._replace(problem=result.problem or result.note, note=None, understood=False)
    return result._replace(understood=False)


def _problem_of(path: Path, source: bytes) -> str | None:
    """The line that says why a file that the user named can't be looked at; None if it can."""
    from trl_lint.linter.files.sources import is_known_kind, unreadable

    if not is_known_kind(path, source):
        return f"{display_path(path)}: not looked at: neither Python nor a file that launch commands are read from"
    problem = unreadable(path, source)
    return f"{display_path(path)}{_one_line(problem)}" if problem else None


def _run_action(path: Path, source: bytes, linter: Linter, action: Action) -> FileResult:
    try:
        return action(linter, path, source)
    except SourceError as error:
        message = display_path(path) + _one_line(str(error).removeprefix(str(path)))
        return FileResult(path, source, problem=message, understood=False)
    except ModuleNotFoundError:  # no file can be looked at without it
        raise
    except Exception as error:
        return FileResult(path, source, problem=internal_error(path, error), understood=False)


def internal_error(path: Path, error: Exception) -> str:
    """The line that says that the tool itself failed on a file."""
    message = _one_line(f"{type(error).__name__}: {error}")
    return f"{display_path(path)}: internal error: {message} (please report it)"


def check(linter: Linter, path: Path, source: bytes) -> FileResult:
    """Lint a file."""
    found = linter.check(path, source)
    silenced: list[Finding] = []
    if may_silence(source):
        from trl_lint.linter.comments.suppressions import split
        from trl_lint.linter.suppression.unused_noqa import found_stale

        found, silenced = split([*found, *found_stale(linter, path, source, found)], source, path)
    found = sorted(found, key=lambda each: each.sort_key)
    return FileResult(path, source, tuple(found), note=_note(linter, path, source), silenced=len(silenced))


def _has_comments_to_judge(linter: Linter, path: Path, source: bytes) -> bool:
    """Whether there may be comments that silence nothing."""
    if not may_silence(source):
        return False
    from trl_lint.linter.suppression.unused_noqa import looks_at

    return looks_at(linter, path, source)


def propose(linter: Linter, path: Path, source: bytes, *, unsafe: bool) -> FileResult:
    """Fix a file's content without writing the file."""
    from trl_lint.linter.comments.suppressions import split

    fixed = linter.fix(path, source, unsafe=unsafe)
    if may_silence(source):
        _, silenced = split(linter.check(path, source), source, path)
        if not set(silenced).isdisjoint(fixed.applied):
            raise AssertionError("a fix changes a silenced finding")
        if _has_comments_to_judge(linter, path, source):
            from trl_lint.linter.suppression.comment_fixes import with_comments

            fixed = with_comments(linter, path, source, fixed, unsafe=unsafe)
    left, silenced = split(fixed.remaining, fixed.source, path)
    note = _note(linter, path, source)
    return FileResult(
        path,
        fixed.source,
        tuple(left),
        fixed.applied,
        fixed.withheld,
        before=source,
        note=note,
        partly=fixed.partly,
        uncovered=fixed.uncovered,
        silenced=len(silenced),
    )


def fix_file(linter: Linter, path: Path, source: bytes, *, unsafe: bool) -> FileResult:
    """Fix a file in place."""
    result = propose(linter, path, source, unsafe=unsafe)
    if result.source == source:
        return result
    from trl_lint.linter.files.writing import CHANGED, write_back

    problem = write_back(path, source, result.source, linter.roots)
    if problem is None:
        return result
    # What could not be fixed is there as before, unless another process has changed the file.
    found = FileResult(path, source) if problem.endswith(CHANGED) else check(linter, path, source)
    return found._replace(problem=problem)


def _note(linter: Linter, path: Path, source: bytes) -> str | None:
    remark = linter.remark(path, source)
    return f"{display_path(path)}: {_one_line(remark)}" if remark else None


def _one_line(text: str) -> str:
    return " ".join(text.split())
