"""A linter that finds words, for tests of the code around the analysis."""

from __future__ import annotations

import re
from pathlib import Path

from trl_lint.findings import Applicability, Edit, Finding, Fix, Note, Position
from trl_lint.linter.files.heirs import Heirs
from trl_lint.linter.results import CommentContext, FixResult, SourceError
from trl_lint.rules import find_rule

KINDS = {
    "BUG": ("TRL001", "item-before-gather", Applicability.SAFE),
    "RISKY": ("TRL003", "unreduced-metric", Applicability.UNSAFE),
    "HINT": ("TRL002", "wrapped-model-attribute", Applicability.DISPLAY),
}


class FakeLinter:
    """Finds the words of `KINDS` and replaces them by `good`. `(((` can't be parsed, `CRASH` makes it crash."""

    def __init__(self, settings, roots, rules, *, can_fix=True, selection=None):
        self.settings, self.roots = settings, roots
        self.rules, self.codes = rules, {rule.code for rule in rules}
        self.cards = tuple(rule.card for rule in rules)
        self.comments = CommentContext()
        self.heirs = Heirs()

    def may_matter(self, source: bytes) -> bool:
        return b"harmless" not in source

    def matters(self, path: Path, source: bytes) -> bool:
        return path.suffix != ".toml" and self.may_matter(source)

    @property
    def looks_for_launches(self) -> bool:
        return "TRL004" in self.codes

    def remark(self, path: Path, source: bytes) -> str:
        return ""

    def unasked(self, path: Path) -> list[Finding]:
        return []

    def pass_over(self, paths) -> None:
        """Files that are passed over have no findings."""

    def prepare(self, files) -> None:
        """No file depends on another."""

    def passed_over_with_findings(self) -> dict[Path, bytes]:
        return {}

    def check(self, path: Path, source: bytes) -> list[Finding]:
        try:
            text = source.decode().replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise SourceError(str(path), 1, 1, str(error)) from None
        if "(((" in text:
            raise SourceError(str(path), 1, 2, "unexpected\nend")
        if "CRASH" in text:
            raise KeyError("some\nkey")
        found = [finding(word, str(path), row, match.start() + 1) for word, row, match in _words(text)]
        return [each for each in found if each.code in self.codes]

    def fix(self, path: Path, source: bytes, *, unsafe: bool = False) -> FixResult:
        found = self.check(path, source)
        wanted = {Applicability.SAFE} | ({Applicability.UNSAFE} if unsafe else set())
        kinds = {word for word, kind in KINDS.items() if kind[2] in wanted and b"WITHHOLD" not in source}
        fixed = re.sub("|".join(kinds), "good", source.decode()).encode() if kinds else source
        applied = tuple(each for each in found if kinds and each.fix.applicability in wanted)
        withheld = tuple((each, "it adds another") for each in found if each not in applied) * (not kinds)
        return FixResult(fixed, applied, withheld, tuple(self.check(path, fixed)))


def _words(text: str):
    for row, line in enumerate(text.split("\n"), 1):
        for match in re.finditer("|".join(KINDS), line):
            yield match[0], row, match


def finding(word: str, path: str, row: int, column: int, *, end: Position | None = None) -> Finding:
    """The finding for a word of `KINDS` at a place."""
    code, name, applicability = KINDS[word]
    rule = find_rule(code)
    assert rule is not None
    start, end = Position(row, column), end or Position(row, column + len(word))
    return Finding(
        code=code,
        name=name,
        message=f"{word} is here",
        path=path,
        start=start,
        end=end,
        because=(Note("it was written", path, Position(1, 1)),),
        help="write good",
        consequence=rule.consequences[0],
        fix=Fix(applicability, "Write good", lambda: (Edit(start, end, "good"),), reason=f"it is {word.lower()}"),
    )
