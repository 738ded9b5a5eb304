"""The results for one file: what `--fix` changed in it, and why it could not be analysed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from trl_lint.findings import Finding, Position

# The verdict on a file that is valid, but that the analysis cannot handle.
GIVEN_UP = "not analysed"


class SourceError(Exception):
    """A file that can't be read, decoded, parsed or analysed. `line` and `column` count from 1, as in `Position`."""

    def __init__(
        self, path: str, line: int, column: int, message: str, verdict: str = "cannot parse", *, cell: int = 0
    ) -> None:
        super().__init__(f"{path}:{Position(line, column, cell=cell)}: {verdict}: {message}")
        self.cell = cell
        self.line = line
        self.column = column
        self.message = message
        self.verdict = verdict


class LaunchOutcome(NamedTuple):
    """Findings about the launch commands in one file.

    unasked: those that are not wanted. remark: why the file, or a part of it, was not looked at ("" if all of it was).
    """

    findings: tuple[Finding, ...] = ()
    unasked: tuple[Finding, ...] = ()
    remark: str = ""


class CommentContext:
    """What is needed to judge the comments that silence findings.

    Attributes:
        judged_below: The folders for which all findings are known, so that a comment can be said to silence nothing.
        silent: Files that are looked at only for their comments, because nothing else can be found in them.
        unasked, unasked_launches: Per file, the findings of the selected rules that are not wanted.
    """

    def __init__(self, judged_below: tuple[Path, ...] = (), silent: Iterable[Path] = ()) -> None:
        self.judged_below = judged_below
        self.silent = set(silent)
        self.unasked: dict[Path, list[Finding]] = {}
        self.unasked_launches: dict[Path, list[Finding]] = {}


class FixResult(NamedTuple):
    """What `--fix` did to one file: its new content, what was fixed, what was not and why, and what remains.

    applied, partly: findings of the original text that are gone, and those that are fixed only in part. uncovered: how
    many of the remaining findings were not visible before.
    """

    source: bytes
    applied: tuple[Finding, ...]
    withheld: tuple[tuple[Finding, str], ...]
    remaining: tuple[Finding, ...]
    partly: tuple[Finding, ...] = ()
    uncovered: int = 0
