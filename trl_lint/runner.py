"""Many files: read each, lint or mend it, drop what its comments silence, and let no file stop the others."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from trl_lint import suppressions
from trl_lint.discovery import Problem, display_path
from trl_lint.findings import Finding
from trl_lint.linter import Linter, SourceError


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file.

    `findings` are what is left, at places in `source`. `before` is the content that was read where it is not
    `source`. `problem` is one line for the user when the tool could not do its work, `note` one on what was not
    looked at, which is no failure.
    """

    path: Path
    source: bytes = b""
    findings: tuple[Finding, ...] = ()
    applied: tuple[Finding, ...] = ()
    withheld: tuple[tuple[Finding, str], ...] = ()
    before: bytes | None = None
    problem: str | None = None
    note: str | None = None


Action = Callable[[Linter, Path, bytes], FileResult]


def run(items: Iterable[Path | Problem], linter: Linter, action: Action) -> Iterator[FileResult]:
    """The result of `action` for every file, in order.

    All files are analysed before the first is reported: what one of them means for another must not depend on
    their order.
    """
    read = [_read(item) for item in items]
    linter.prepare((result.path, result.source) for result in read if result.problem is None)
    for result in read:
        yield result if result.problem else run_one(result.path, result.source, linter, action)


def _read(item: Path | Problem) -> FileResult:
    if isinstance(item, Problem):
        return FileResult(item.path, problem=f"{display_path(item.path)}: {item.message}")
    # The analysis looks for packages around the file, so it must see where the file really lies.
    path = Path(os.path.abspath(item))
    try:
        return FileResult(path, path.read_bytes())
    except OSError as error:
        return FileResult(path, problem=f"{display_path(path)}: cannot read: {error.strerror}")


def run_one(path: Path, source: bytes, linter: Linter, action: Action) -> FileResult:
    """The result of `action` for one content; whatever goes wrong is in the result."""
    path = Path(os.path.abspath(path))
    if not linter.matters(path, source):
        return FileResult(path, source)
    try:
        return action(linter, path, source)
    except SourceError as error:
        said = display_path(path) + str(error).removeprefix(str(path))
        return FileResult(path, source, problem=_one_line(said))
    except Exception as error:
        return FileResult(path, source, problem=internal_error(path, error))


def internal_error(path: Path, error: Exception) -> str:
    """The line that says that the tool itself failed on a file."""
    said = f"{type(error).__name__}: {error}"
    return _one_line(f"{display_path(path)}: internal error: {said} (please report it)")


def check(linter: Linter, path: Path, source: bytes) -> FileResult:
    """Lint a file."""
    found = linter.check(path, source)
    return FileResult(path, source, tuple(suppressions.split(found, source, path)[0]), note=_note(linter, path, source))


def propose(linter: Linter, path: Path, source: bytes, *, unsafe: bool) -> FileResult:
    """Mend a file's content, and leave the file as it is."""
    fixed = linter.fix(path, source, unsafe=unsafe)
    if suppressions.NEEDLE.search(source):
        _, silenced = suppressions.split(linter.check(path, source), source, path)
        if not set(silenced).isdisjoint(fixed.applied):
            raise AssertionError("a fix mends what a comment silences")
    left = suppressions.split(fixed.remaining, fixed.source, path)[0]
    note = _note(linter, path, source)
    return FileResult(path, fixed.source, tuple(left), fixed.applied, fixed.withheld, before=source, note=note)


def mend(linter: Linter, path: Path, source: bytes, *, unsafe: bool) -> FileResult:
    """Mend a file, in place."""
    result = propose(linter, path, source, unsafe=unsafe)
    if result.source == source:
        return result
    problem = write_back(path, source, result.source)
    return replace(result, problem=problem) if not problem else FileResult(path, source, problem=problem)


def write_back(path: Path, before: bytes, after: bytes) -> str | None:
    """Replace a file's content in one step, if it is still what was read; else say why not."""
    target = Path(os.path.realpath(path))
    try:
        if target.read_bytes() != before:
            return f"{display_path(path)}: not fixed: the file has changed since it was read"
        _replace(target, after)
    except OSError as error:
        return f"{display_path(path)}: not fixed: cannot write: {error.strerror}"
    return None


def _replace(target: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _note(linter: Linter, path: Path, source: bytes) -> str | None:
    remark = linter.remark(path, source)
    return _one_line(f"{display_path(path)}: {remark}") if remark else None


def _one_line(text: str) -> str:
    return " ".join(text.split())
