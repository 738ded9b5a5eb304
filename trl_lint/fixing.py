"""Rewriting: apply what codemods make of findings, and keep it only where it is proven to help.

The gate analyses the new text with all rules. A fix that leaves its finding, adds another one to the function it
edits, or makes a text that does not parse is withheld, and said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trl_lint import suppressions
from trl_lint.findings import Applicability, Edit, Finding, Position
from trl_lint.linter import FixResult, Linter, Reported, SourceError
from trl_lint.rules import all_rules
from trl_lint.rules.base import Problem, Rule

if TYPE_CHECKING:
    import libcst as cst

# Findings that were there before a fix of the first code, on the same value, and only became visible by it.
_UNCOVERED = {"TRL001": frozenset({"TRL014"}), "TRL003": frozenset({"TRL007"})}


def fix(linter: Linter, path: Path, source: bytes, *, unsafe: bool) -> FixResult:
    """Apply the fixes of one file that pass the gate.

    Raises:
        SourceError: the file can't be decoded or parsed.
    """
    found = linter.report(path, source)
    wanted = _wanted(found, source, unsafe)
    applied: list[Finding] = []
    withheld: list[tuple[Finding, str]] = []
    current = source
    if wanted:
        current = _passing(linter, path, source, wanted, found)
        if current is not None:
            applied = [each.finding for each in wanted]
        else:
            current, applied, withheld = _one_by_one(linter, path, source, wanted, found)
    remaining = linter.check(path, source) if current == source else _fresh(linter, path).check(path, current)
    return FixResult(current, tuple(applied), tuple(withheld), tuple(remaining))


def _wanted(found: Sequence[Reported], source: bytes, unsafe: bool) -> list[Reported]:
    """The findings to mend: those with a plan that is trusted far enough, and that no comment silences."""
    levels = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
    silenced = set(suppressions.split([each.finding for each in found], source)[1])
    return [
        each
        for each in found
        if each.problem.plan is not None
        and each.problem.applicability in levels
        and each.rule.codemod is not None
        and each.finding not in silenced
    ]


def _fresh(linter: Linter, path: Path, rules: Sequence[Rule] | None = None) -> Linter:
    """A linter that knows nothing of the old text."""
    fresh = Linter(linter.settings, linter.roots, linter.rules if rules is None else rules)
    fresh.overlay = {key: value for key, value in linter.overlay.items() if key != path}
    return fresh


def _passing(
    linter: Linter, path: Path, source: bytes, chosen: Sequence[Reported], found: Sequence[Reported]
) -> bytes | None:
    """The new content with these fixes if it passes the gate, else None."""
    from trl_lint.analysis.project import decode, encode

    text, encoding = decode(source)
    by_rule: dict[Rule, list[Problem]] = {}
    for each in chosen:
        by_rule.setdefault(each.rule, []).append(each.problem)
    tree = chosen[0].problem.module.tree
    if tree.code != text:
        return None  # the parser does not give this text back byte for byte
    new = encode(transformed(tree, by_rule), encoding)
    try:
        after = _fresh(linter, path, all_rules()).report(path, new)
        before = _fresh(linter, path, all_rules()).report(path, source)
    except SourceError:
        return None
    return new if _improves(before, after, chosen) else None


def _improves(before: Sequence[Reported], after: Sequence[Reported], chosen: Sequence[Reported]) -> bool:
    """Whether, function by function, the findings are the old ones without those that were mended."""
    allowed = Counter(_place(each) for each in before)
    allowed.subtract(_place(each) for each in chosen)
    uncovered = {code for each in chosen for code in _UNCOVERED.get(each.rule.code, ())}
    now = Counter(_place(each) for each in after if each.rule.code not in uncovered)
    return all(count <= allowed[place] for place, count in now.items())


def _place(reported: Reported) -> tuple[str, str]:
    return reported.rule.code, repr(reported.problem.owner)


def _one_by_one(
    linter: Linter, path: Path, source: bytes, wanted: Sequence[Reported], found: Sequence[Reported]
) -> tuple[bytes, list[Finding], list[tuple[Finding, str]]]:
    """Together they do not pass: find those that do alone, and apply as many of them as go together."""
    passing: list[Reported] = []
    withheld: list[tuple[Finding, str]] = []
    current = source
    for each in wanted:
        new = _passing(linter, path, source, [*passing, each], found)
        if new is None:
            withheld.append((each.finding, "the result would still have this finding, or a new one"))
        else:
            passing.append(each)
            current = new
    return current, [each.finding for each in passing], withheld


# --- text -----------------------------------------------------------------------------------------------


def transformed(tree: cst.Module, by_rule: Mapping[Rule, Sequence[Problem]]) -> str:
    """The text after the codemods of these rules have mended these problems."""
    from libcst.codemod import CodemodContext

    result = tree
    for rule, problems in by_rule.items():
        result = _command(rule)(CodemodContext(), problems).transform_module(result)
    return result.code


def _command(rule: Rule) -> Any:
    module, _, name = (rule.codemod or "").partition(":")
    return getattr(import_module(module), name)


def edits_between(before: str, after: str) -> tuple[Edit, ...]:
    """The smallest edits, in whole lines trimmed to what differs, that turn one text into the other."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    edits = []
    for tag, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            edits.append(_edit(old, first, last, "".join(new[start:end])))
    return tuple(edits)


def _edit(old: list[str], first: int, last: int, content: str) -> Edit:
    replaced = "".join(old[first:last])
    head = _common(replaced, content)
    tail = _common(replaced[head:][::-1], content[head:][::-1])
    start = _position(old, first, head)
    end = _position(old, first, len(replaced) - tail)
    return Edit(start, end, content[head : len(content) - tail])


def _common(a: str, b: str) -> int:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length


def _position(lines: list[str], line: int, offset: int) -> Position:
    """The place `offset` characters after the start of a line (counted from 0)."""
    while line < len(lines) and offset >= len(lines[line]):
        offset -= len(lines[line])
        line += 1
    return Position(line + 1, offset + 1)
