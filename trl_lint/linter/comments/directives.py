"""The comments that silence findings: their syntax, and which rules they name.

    # noqa: TRL001, E501 as rank 0 alone logs       codes and names of rules; a reason may follow
    # flake8: noqa: TRL003                          the same, for a whole file, on a line by itself
    # trl-lint: ignore[unreduced-metric] -- reason  the long form, only for the rules of trl-lint

`# noqa` is read the way flake8 reads it, but for a name or a code of ours that is misspelt: where flake8 takes the
words after the colon for prose, and the comment for one that silences everything, such a word silences nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

from trl_lint.findings import Finding

# How similar a word and the name of a rule must be for the word to count as a misspelling.
_LOOKALIKES = 0.85
_SEPARATORS = re.compile(r"[,\s]*")
_COLON = re.compile(r":\s?")
# What may be meant as a name or a code of trl-lint.
_CANDIDATE = re.compile(r"(?:TRL[-_]\d+|[a-z]+(?:[-_][a-z]+)+)(?![\w-])", re.IGNORECASE)
_IGNORE = re.compile(r"# ?trl-lint:\s*ignore(?:\[(?P<words>[^\]\n]*)\])?", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"[^,\s]+")
_Patterns = tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]
_HYPHENS = str.maketrans("_", "-")


class CommentForm(Enum):
    """The syntaxes of a directive."""

    LINE = "# noqa"
    FILE = "# flake8: noqa"
    WORDY = "# trl-lint: ignore"


@dataclass(frozen=True, slots=True)
class RuleWord:
    """A word of a comment: a code, a code prefix, or a name, as written, and its position in the line.

    slip: whether it is unknown and can only be a misspelling; `meant` is the intended word, if that is known.
    """

    text: str
    start: int
    slip: bool = False
    meant: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def key(self) -> str:
        """The word to compare: names ignore case, codes do not, as in flake8."""
        return self.text.lower() if "-" in self.text else self.text

    def refers_to(self, code: str, name: str) -> bool:
        """Whether it refers to a rule."""
        return not self.slip and (name == self.key or code.startswith(self.key))


@dataclass(frozen=True, slots=True)
class Directive:
    """A comment that silences. line: counted from 1; start, end: from its `#` to its last word, counted from 0."""

    form: CommentForm
    line: int
    start: int
    end: int
    words: tuple[RuleWord, ...] = ()

    @property
    def is_blanket(self) -> bool:
        """Whether it names no rule and so applies to all."""
        return not self.words and self.form is not CommentForm.WORDY

    def covers(self, finding: Finding) -> bool:
        return self.is_blanket or any(word.refers_to(finding.code, finding.name) for word in self.words)

    @property
    def place(self) -> tuple[int, int]:
        return self.line, self.start


def in_file(line: str, number: int) -> Directive | None:
    """The directive for the whole file, if the line is one."""
    found = _patterns()[1].match(line)
    if not found:
        return None
    start = found.start() + len(found[0]) - len(found[0].lstrip())
    return _noqa(CommentForm.FILE, found, start, number)


def in_text(text: str, number: int) -> Iterator[Directive]:
    """The directives of a text that are effective: the first of each form. number: that of its first line."""
    noqa = _patterns()[0].search(text)
    if noqa:
        yield _in_its_line(_noqa(CommentForm.LINE, noqa, noqa.start(), number), text)
    wordy = _IGNORE.search(text)
    if wordy:
        yield _in_its_line(_wordy(wordy, number), text)


def all_in(comment: str, number: int, column: int) -> Iterator[Directive]:
    """All directives in a comment, including ineffective ones. column: where the comment begins."""
    for found in _patterns()[0].finditer(comment):
        yield _shifted(_noqa(CommentForm.LINE, found, found.start(), number), 0, column)
    for found in _IGNORE.finditer(comment):
        yield _shifted(_wordy(found, number), 0, column)


def _in_its_line(found: Directive, text: str) -> Directive:
    """A directive found in a text of several lines, with its position in its own line."""
    before = text[: found.start]
    return _shifted(found, before.count("\n"), -(before.rfind("\n") + 1))


def _shifted(found: Directive, lines: int, columns: int) -> Directive:
    words = tuple(replace(word, start=word.start + columns) for word in found.words)
    return Directive(found.form, found.line + lines, found.start + columns, found.end + columns, words)


def _noqa(form: CommentForm, found: re.Match[str], start: int, number: int) -> Directive:
    words = tuple(_words(found))
    return Directive(form, number, start, words[-1].end if words else found.end(), words)


def _words(found: re.Match[str]) -> Iterator[RuleWord]:
    """The words that flake8 recognises, and those that it does not because they are misspelt."""
    word, text = _patterns()[2], found.string
    at = found.end()
    if found["codes"]:
        at = found.start("codes")
    elif colon := _COLON.match(text, at):
        at = colon.end()
        if _slip(text, at) is None:
            return
    else:
        return
    while True:
        known = word.match(text, at)
        each = RuleWord(known[0], at) if known else _slip(text, at)
        if each is None:
            return
        yield each
        separator = _SEPARATORS.match(text, each.end)
        at = separator.end() if separator else each.end


def _slip(text: str, at: int) -> RuleWord | None:
    """The misspelt word at this position, if there is one."""
    found = _CANDIDATE.match(text, at)
    meant = _meant_by(found[0]) if found else None
    return RuleWord(found[0], at, slip=True, meant=meant) if found and meant is not None else None


def _wordy(found: re.Match[str], number: int) -> Directive:
    words = []
    if found["words"]:
        for each in _IN_BRACKETS.finditer(found.string, found.start("words"), found.end("words")):
            word = RuleWord(each[0], each.start())
            known = any(word.refers_to(code, name) for code, name in _rules())
            words.append(word if known else replace(word, slip=True, meant=_meant_by(each[0]) or ""))
    return Directive(CommentForm.WORDY, number, found.start(), found.end(), tuple(words))


def _meant_by(word: str) -> str | None:
    """The code or name that a word must be meant as: "" for an unknown code, None for prose."""
    plain = word.upper().replace("-", "").replace("_", "")
    if plain.startswith("TRL") and plain[3:].isdigit():
        return plain if any(code.startswith(plain) for code, _ in _rules()) else ""
    from difflib import get_close_matches

    close = get_close_matches(word.lower().translate(_HYPHENS), [name for _, name in _rules()], 1, _LOOKALIKES)
    return close[0] if close else None


def _rules() -> tuple[tuple[str, str], ...]:
    """Code and name of each rule."""
    from trl_lint.rules.cards import known_cards

    return tuple((card.code, card.name) for card in known_cards())


def _patterns() -> _Patterns:
    return _patterns_with(tuple(name for _, name in _rules()))


@cache
def _patterns_with(names: tuple[str, ...]) -> _Patterns:
    """The two patterns of flake8, extended by the names of rules; and the pattern of one word."""
    named = "|".join(rf"{re.escape(name)}(?![\w-])" for name in names)
    word = rf"(?:{named}|[A-Z]+[0-9]+)"
    codes = rf"(?::[\s]?(?P<codes>(?:{word}(?:[,\s]+)?)+))?"
    return (
        re.compile(rf"# noqa{codes}", re.IGNORECASE),
        re.compile(rf"\s*# flake8[:=]\s*noqa{codes}", re.IGNORECASE),
        re.compile(word, re.IGNORECASE),
    )
