"""What comes of one file: what `--fix` did to it, and why it could not be looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trl_lint.findings import Finding, Position

# The verdict on a file that is valid, and that the analysis can't bear.
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


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """What is wrong about the launch commands in one file: findings, those that were not asked for, and why it, or a
    part of it, was not looked at ("" if all was).
    """

    findings: tuple[Finding, ...] = ()
    unasked: tuple[Finding, ...] = ()
    remark: str = ""


@dataclass(slots=True)
class CommentContext:
    """What has to be known to judge the comments that silence findings.

    judged_below: the folders below which all that there is to find is known, so that comments can be said to silence
    nothing. silent: the files that are looked at for their comments alone, as nothing else is to be found in them.
    unasked, unasked_launches: by file, the findings of the selected rules that were not asked for.
    """

    judged_below: tuple[Path, ...] = ()
    silent: set[Path] = field(default_factory=set)
    unasked: dict[Path, list[Finding]] = field(default_factory=dict)
    unasked_launches: dict[Path, list[Finding]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FixResult:
    """What `--fix` did to one file: its new content, what was mended, what was not and why, what is left.

    applied, partly: findings of the text as it was, those that are gone and those that are only mended in part.
    uncovered: how many of those that are left could not be seen before.
    """

    source: bytes
    applied: tuple[Finding, ...]
    withheld: tuple[tuple[Finding, str], ...]
    remaining: tuple[Finding, ...]
    partly: tuple[Finding, ...] = ()
    uncovered: int = 0
