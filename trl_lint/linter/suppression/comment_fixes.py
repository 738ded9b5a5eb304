"""`--fix` for the comments that silence findings: applied after all other fixes, and checked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from trl_lint.findings import Applicability, Edit, Finding
from trl_lint.linter.comments.suppressions import split
from trl_lint.linter.decoding import decoded
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import FixResult
from trl_lint.linter.rewriting import text_edits
from trl_lint.linter.rewriting.fixing import fresh_linter
from trl_lint.linter.suppression.unused_noqa import found_stale, looks_at

# A comment may have several findings, which are fixed one at a time.
_ROUNDS = 10


def with_comments(linter: Linter, path: Path, source: bytes, fixed: FixResult, *, unsafe: bool) -> FixResult:
    """What `--fix` did to a file, together with what it did to its comments and which of their findings remain."""
    if not looks_at(linter, path, fixed.source):
        return fixed
    levels = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
    first = _stale(linter, path, source)
    now = linter if fixed.source == source else fresh_linter(linter, path)
    current, remaining = fixed.source, list(fixed.remaining)
    left = first if now is linter else _stale(now, path, current)
    for _ in range(_ROUNDS):
        wanted = _one_per_line([each for each in left if each.fix and each.fix.applicability in levels])
        if not wanted:
            break
        new = edited(current, [edit for each in wanted if each.fix for edit in each.fix.edits()])
        now = fresh_linter(linter, path)
        found = now.check(path, new)
        if not _are_same_apart_from_place(
            found, remaining
        ):  # removing the comment would change more than itself, so it stays
            break
        current, remaining = new, found
        left = found_stale(now, path, current, found)
    fixed_messages = Counter(each.message for each in first) - Counter(each.message for each in left)
    applied = [each for each in first if each.fix and each.fix.applicability in levels and fixed_messages[each.message]]
    everything = sorted((*fixed.applied, *split(applied, source, path)[0]), key=lambda each: each.sort_key)
    remaining = sorted((*remaining, *left), key=lambda each: each.sort_key)
    return fixed._replace(source=current, applied=tuple(everything), remaining=tuple(remaining))


def _stale(linter: Linter, path: Path, source: bytes) -> list[Finding]:
    found = linter.check(path, source)
    return split(found_stale(linter, path, source, found), source, path)[0]


def _are_same_apart_from_place(found: Sequence[Finding], others: Sequence[Finding]) -> bool:
    """Whether the findings are the same, apart from their places."""
    keys, before = (Counter((each.code, each.message) for each in some) for some in (found, others))
    return keys == before


def _one_per_line(found: Sequence[Finding]) -> list[Finding]:
    return list({each.start.line: each for each in found}.values())


def edited(source: bytes, edits: Sequence[Edit]) -> bytes:
    """A file after edits; encoding, line ends and byte order mark stay."""
    text, encoding = decoded(source)
    return text_edits.edited(text, edits).encode(encoding)
