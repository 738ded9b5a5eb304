"""One file: read it, analyse it, ask the rules, and (for `--fix`) rewrite what they found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trl_lint.config import Settings
from trl_lint.findings import Finding
from trl_lint.rules.base import Rule


class SourceError(Exception):
    """A file that can't be read, decoded or parsed. `line` and `column` count from 1."""

    def __init__(self, path: str, line: int, column: int, message: str) -> None:
        super().__init__(f"{path}:{line}:{column}: cannot parse: {message}")


@dataclass(frozen=True, slots=True)
class FixResult:
    """What `--fix` did to one file: its new content, what was mended, what was not and why, what is left."""

    source: bytes
    applied: tuple[Finding, ...]
    withheld: tuple[tuple[Finding, str], ...]
    remaining: tuple[Finding, ...]


class Linter:
    """Lints files of one project. It keeps what it parsed, so files that import each other are read once."""

    def __init__(self, settings: Settings, roots: Sequence[Path], rules: Sequence[Rule]) -> None:
        self.settings = settings
        self.roots = tuple(roots)
        self.rules = tuple(rules)

    def may_matter(self, source: bytes) -> bool:
        """Whether any selected rule can have a finding in a file with this content (a search of bytes)."""
        return any(rule.may_matter(source) for rule in self.rules)

    def check(self, path: Path, source: bytes) -> list[Finding]:
        """All findings of the selected rules in `source`, sorted by place; suppressions are not applied here.

        Raises:
            SourceError: the text can't be decoded or parsed.
        """
        return []

    def fix(self, path: Path, source: bytes, *, unsafe: bool = False) -> FixResult:
        """Apply the fixes that pass the gate; `unsafe` also applies the unsafe ones."""
        return FixResult(source, (), (), ())
