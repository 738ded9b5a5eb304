"""TRL900: comments that name rules but silence nothing, or name something that is not a rule."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from trl_lint.config import did_you_mean, ignored_in
from trl_lint.findings import Applicability, Consequence, Edit, Finding, Fix, Position
from trl_lint.launch.parsers import readers
from trl_lint.linter.comments.directives import Directive, RuleWord, all_in, in_file
from trl_lint.linter.comments.hash_comments import has_them, hash_comments, runs_the_same
from trl_lint.linter.comments.suppressions import Comments
from trl_lint.linter.linter import Linter
from trl_lint.rules.cards import COMMENTS, Card, known_cards

# What follows the keyword if a comment may be about rules of trl-lint: a code, or a name with a hyphen.
_OURS = re.compile(rb"trl|[a-z][-_][a-z]")
_WORDY = re.compile(rb"trl-lint:[ \t]*ignore")
# Comments for tools, after which another one may begin. After prose it is part of the prose.
_FOR_TOOLS = re.compile(
    r"(?:#\s*(?:(?:type|pyright|mypy|pylint|pyre|ruff|flake8|isort|fmt|yapf|pragma|trl-lint)\s*:|(?:noqa|nosec)\b)[^#]*)*"
)
# What may be between the codes and the reason.
_BEFORE_REASON = re.compile(r"[\s,;:\u2013\u2014-]*")


def rule_of(linter: Linter) -> Card | None:
    """The card of the rule, if it is selected."""
    return next((card for card in linter.cards if card.about == COMMENTS), None)


def looks_at(linter: Linter, path: Path, source: bytes) -> bool:
    """Whether there may be comments to judge in a file (a search in the bytes)."""
    low = source.lower()
    if b"noqa" not in low and b"trl-lint:" not in low:
        return False
    return rule_of(linter) is not None and _names_ours(low) and _has_comments(path, source)


def _names_ours(low: bytes) -> bool:
    """Whether a lower-case text has a comment that may be about rules of trl-lint."""
    if _WORDY.search(low):
        return True
    lines = low.splitlines() if b"noqa" in low else []
    return any(_OURS.search(line, at) for line in lines if (at := line.find(b"noqa") + 1))


def _has_comments(path: Path, source: bytes) -> bool:
    return not readers.is_launch_file(path, source) or has_them(path, source)


def found_stale(linter: Linter, path: Path, source: bytes, found: Sequence[Finding]) -> list[Finding]:
    """The findings about the comments of a file.

    found: its other findings, silenced or not. The linter must have just checked the file.
    """
    rule = rule_of(linter)
    if rule is None or not looks_at(linter, path, source):
        return []
    ignores = ignored_in(linter.settings, path)
    if ignores(rule, Consequence.STALE, True) or linter.remark(path, source):
        return []
    comments = Comments(source, path)
    used = _used(comments, (*found, *linter.unasked(path)))
    below = any(path.is_relative_to(folder) for folder in linter.comments.judged_below)
    judged = frozenset(judged_in(linter, path)) if below else frozenset()
    findings: list[Finding] = []
    for each in _directives(comments, source):
        line = comments.lines[each.line - 1].rstrip("\r\n")
        stale = [word for word in each.words if _is_stale(word, judged) and (each.place, word.start) not in used]
        findings += _unused(path, each, stale, line)
        findings += _unknown(path, each, line)
    return findings if comments.is_python else [_without_harmful_fix(path, source, each) for each in findings]


def _without_harmful_fix(path: Path, source: bytes, finding: Finding) -> Finding:
    """A finding in a file of commands, without its fix if that would change them."""
    from trl_lint.linter.suppression.comment_fixes import edited

    fix = finding.fix
    if fix is None or runs_the_same(path, source, edited(source, fix.edits())):
        return finding
    return replace(finding, fix=Fix(Applicability.DISPLAY, fix.title, reason="the comment may be part of a command"))


def judged_in(linter: Linter, path: Path) -> Iterator[str]:
    """The codes of the rules all of whose findings in a file are known."""
    ignores = ignored_in(linter.settings, path)
    for rule in linter.cards:
        if not any(ignores(rule, each, by_default) for each in rule.consequences for by_default in (True, False)):
            yield rule.code


def _used(comments: Comments, found: Iterable[Finding]) -> set[tuple[tuple[int, int], int]]:
    """The words that silence one of these findings, or a merged one, each by the place of its comment and its own."""
    used = set()
    for finding in _with_parts(found):
        for each in comments.directives_for(finding):
            used |= {(each.place, word.start) for word in each.words if word.refers_to(finding.code, finding.name)}
    return used


def _with_parts(found: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, and the others that were merged into them."""
    names = {rule.code: rule.name for rule in known_cards()}
    for finding in found:
        yield finding
        for each in finding.also:
            if each.path == finding.path:
                name = names.get(each.code, "")
                yield replace(finding, code=each.code, name=name, start=each.start, end=each.start, branches=())


def _directives(comments: Comments, source: bytes) -> Iterator[Directive]:
    """The comments that silence, including ineffective ones."""
    for number, column, text in python_comments(source) if comments.is_python else hash_comments(comments.lines):
        for_file = in_file(comments.lines[number - 1], number)
        if for_file is not None:
            yield for_file
        last = column + _match_end(_FOR_TOOLS, text)
        yield from (each for each in all_in(text, number, column) if each.start <= last)


def python_comments(source: bytes) -> Iterator[tuple[int, int, str]]:
    """The comments of a Python file: line, column counted from 0, and text; none if it can't be tokenized."""
    try:
        tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
    except (tokenize.TokenError, SyntaxError, UnicodeError, ValueError, RecursionError):
        return
    for token in tokens:
        if token.type == tokenize.COMMENT:
            yield *token.start, token.string


def _is_stale(word: RuleWord, judged: frozenset[str]) -> bool:
    """Whether all that a word may silence is judged. This rule is not: it silences findings about comments."""
    meant = [rule for rule in known_cards() if word.refers_to(rule.code, rule.name)]
    return bool(meant) and all(rule.code in judged and rule.about != COMMENTS for rule in meant)


def _is_unknown(word: RuleWord) -> bool:
    """Whether a word has the form of a rule of trl-lint but is none of them."""
    if word.slip:
        return True
    ours = word.text.upper().startswith("TRL") and "-" not in word.text
    return ours and not any(word.refers_to(rule.code, rule.name) for rule in known_cards())


def _unused(path: Path, comment: Directive, stale: Sequence[RuleWord], line: str) -> Iterator[Finding]:
    if stale:
        named = " and ".join(f"`{word.text}`" for word in stale)
        verb = "silences" if len(stale) == 1 else "silence"
        message = f"{named} in `{comment.form.value}` {verb} nothing: there is no such finding here"
        edits = partial(_edits, comment, line, frozenset(stale), {})
        yield _finding(path, comment, message, Fix(Applicability.SAFE, f"Remove {named} from the comment", edits))
    if not comment.words and not comment.is_blanket:
        message = f"`{comment.form.value}` names no rule, so it silences nothing"
        edits = partial(_edits, comment, line, frozenset(), {})
        yield _finding(path, comment, message, Fix(Applicability.SAFE, "Remove the comment", edits))


def _unknown(path: Path, comment: Directive, line: str) -> Iterator[Finding]:
    for word in comment.words:
        if not _is_unknown(word):
            continue
        meant = word.meant or _in_capitals(word)
        hint = f"; did you mean `{meant}`?" if meant else did_you_mean(word.text, _codes())
        message = f"`{word.text}` in `{comment.form.value}` is not a rule, so it silences nothing{hint}"
        fix = Fix(Applicability.DISPLAY, "Name an existing rule", reason="it is not known which rule is meant")
        if meant:
            edits = partial(_edits, comment, line, frozenset(), {word: meant})
            reason = "it would silence a finding that is reported now"
            fix = Fix(Applicability.UNSAFE, f"Write `{meant}`", edits, reason)
        yield _finding(path, comment, message, fix)


def _in_capitals(word: RuleWord) -> str:
    return word.text.upper() if word.text.upper() in _codes() else ""


def _codes() -> list[str]:
    return [rule.code for rule in known_cards()]


def _finding(path: Path, comment: Directive, message: str, fix: Fix) -> Finding:
    (rule,) = (each for each in known_cards() if each.about == COMMENTS)
    return Finding(
        code=rule.code,
        name=rule.name,
        message=message,
        path=str(path),
        start=Position(comment.line, comment.start + 1),
        end=Position(comment.line, comment.end + 1),
        help=fix.title[0].lower() + fix.title[1:],
        fix=fix,
        consequence=Consequence.STALE,
    )


# --- edits ----------------------------------------------------------------------------------------------


def _edits(
    comment: Directive, line: str, removed: frozenset[RuleWord], instead: dict[RuleWord, str]
) -> tuple[Edit, ...]:
    """The edit that removes some words of a comment, or replaces them; without words left, the comment is removed."""
    left = [word for word in comment.words if word not in removed]
    if not left:
        return (_removal(comment, line),)
    text = line[comment.start : comment.words[0].start]
    for word in left:
        before = comment.words[comment.words.index(word) - 1]
        text += line[before.end : word.start] * (word is not left[0]) + instead.get(word, word.text)
    last = comment.words[-1].end
    return (Edit(Position(comment.line, comment.start + 1), Position(comment.line, last + 1), text),)


def _removal(comment: Directive, line: str) -> Edit:
    """The edit that removes a comment but keeps the reason after it; without code or reason, the line is removed."""
    code = line[: comment.start].rstrip()
    rest = line[comment.end :]
    reason = rest[_match_end(_BEFORE_REASON, rest) :].rstrip()
    if not code and not reason:
        return Edit(Position(comment.line, 1), Position(comment.line + 1, 1), "")
    kept = reason if reason.startswith("#") or not reason else f"# {reason}"
    start = len(code) if code else comment.start
    gap = "  " * bool(code and kept)
    return Edit(Position(comment.line, start + 1), Position(comment.line, len(line) + 1), gap + kept)


def _match_end(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found else 0
