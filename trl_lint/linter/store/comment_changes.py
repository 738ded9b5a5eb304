"""Files in which only comments and blank lines have changed: their findings stay valid and move with their lines.

    x = gather(loss)                    # a comment above, or after
    self.log({"loss": x})               x = gather(loss)  # noqa: TRL003

    {1: 2, 2: 3} are the new lines of the left text's code if it became the right one.

Tokens are compared. What comments affect themselves is computed again: the applicability of a fix depends on comments
in the code that it moves, so a finding is reused only if no comment around it has changed, or if it is silenced now. A
comment inside brackets counts as code, because it may be shown in a message. A comment that contains something like
code has to stay, and so has one after an assignment to an attribute, because some checks search the text of a file.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from trl_lint import quiet_ast
from trl_lint.findings import Finding, Fix, Guard, Note, Position, Related
from trl_lint.linter.store.serialization import CheckOutcome

# An assignment or a call, for checks that search a text for one.
_LIKE_CODE = re.compile(r"=|\w\(|isort:")
# Silences all findings of its line.
_SILENCES_ALL = re.compile(r"#\s*noqa\s*(?:$|#)|#\s*trl-lint:\s*ignore\s*$", re.IGNORECASE)
# Tokens that are not on a line of their own.
_NOT_SHOWN = frozenset({tokenize.ENCODING, tokenize.NEWLINE, tokenize.DEDENT, tokenize.ENDMARKER})


@dataclass(frozen=True, slots=True)
class MovedLines:
    """Where the lines of a text are now.

    around: the lines of the functions, and of the statements outside functions, in which comments have changed.
    silenced: by the line of a statement, the comments added to it.
    """

    now: Mapping[int, int]
    around: Set[int] = frozenset()
    silenced: Mapping[int, str] = field(default_factory=dict)

    def holds(self, finding: Finding) -> bool:
        """Whether no changed comment can affect a finding, or one silences it.

        A comment at one of several places with the same cause takes that place out of the finding.
        """
        lines = [finding.start.line, *(each.start.line for each in finding.also)]
        if self.around.isdisjoint(lines):
            return True
        if len(lines) > 1:
            return False
        text = self.silenced.get(finding.start.line, "")
        return finding.code in text or finding.name in text or _SILENCES_ALL.search(text) is not None


class _Token(NamedTuple):
    """A token of code. line: counted from the first of its statement. column: 0 if it has no text."""

    kind: int
    text: str
    line: int
    column: int


class _Statement(NamedTuple):
    """The tokens between two ends of statements, the first and last line, and the comments above and after."""

    tokens: tuple[_Token, ...]
    first: int
    last: int
    above: tuple[str, ...]
    behind: str

    @property
    def sets_attribute(self) -> bool:
        """Whether it assigns to an attribute, or calls `setattr`."""
        left = [each.text for each in self.tokens]
        end = next((number for number, text in enumerate(left) if text.endswith("=") and text != "=="), 0)
        return "setattr" in left or "." in left[:end]


def lines_moved(before: bytes, now: bytes) -> MovedLines | None:
    """Where the lines of code of a text are now; None if more than comments and blank lines has changed."""
    try:
        (old, like_code), (new, like_code_now) = _read(before), _read(now)
    except (tokenize.TokenError, SyntaxError, ValueError):  # includes IndentationError and UnicodeDecodeError
        return None
    tree = quiet_ast.parsed(before)
    if tree is None:
        return None
    regions = list(_regions(tree))
    if like_code != like_code_now or [each.tokens for each in old] != [each.tokens for each in new]:
        return None
    lines: dict[int, int] = {}
    around: set[int] = set()
    silenced: dict[int, str] = {}
    for one, other in zip(old, new, strict=True):
        lines.update(zip(range(one.first, one.last + 1), range(other.first, other.last + 1), strict=True))
        if (one.above, one.behind) == (other.above, other.behind):
            continue
        if one.behind != other.behind and one.sets_attribute:
            return None
        for region in regions:
            around.update(region if one.first in region else ())
        silenced.update(dict.fromkeys(range(one.first, one.last + 1), other.behind if not one.behind else ""))
    return MovedLines(lines, around, silenced)


def _regions(tree: ast.Module) -> Iterator[range]:
    """The lines of each function and method, and of each statement outside them."""
    for node in tree.body:
        for each in node.body if isinstance(node, ast.ClassDef) else (node,):
            decorators = each.decorator_list if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
            first = min([each.lineno, *(decorator.lineno for decorator in decorators)])
            yield range(first, (each.end_lineno or each.lineno) + 1)


def _read(source: bytes) -> tuple[list[_Statement], list[str]]:
    """The statements of a text, each with its comments; and those of all comments that look like code."""
    statements: list[_Statement] = []
    like_code: list[str] = []
    found: list[tokenize.TokenInfo] = []
    comments: list[tuple[bool, str]] = []  # whether it is after code
    depth = 0
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if depth > 0 or token.type not in (tokenize.COMMENT, tokenize.NL):
            found.append(token)
        elif token.type == tokenize.COMMENT:
            comments.append((any(each.type not in _NOT_SHOWN for each in found), token.string))
            like_code += [token.string] if _LIKE_CODE.search(token.string) else []
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            statements.append(_statement(found, comments))
            found, comments = [], []
    return statements, like_code


def _statement(tokens: list[tokenize.TokenInfo], comments: list[tuple[bool, str]]) -> _Statement:
    significant = [each for each in tokens if each.type not in _NOT_SHOWN]
    first, last = (significant[0].start[0], significant[-1].end[0]) if significant else (1, 0)
    above = tuple(text for is_behind, text in comments if not is_behind)
    behind = "".join(text for is_behind, text in comments if is_behind)
    return _Statement(tuple(_token(each, first) for each in tokens), first, last, above, behind)


def _token(token: tokenize.TokenInfo, first: int) -> _Token:
    """A token in a form to compare; where a line or the text ends does not matter."""
    if token.type in _NOT_SHOWN:
        return _Token(token.type, token.string if token.type == tokenize.ENCODING else "", 0, 0)
    return _Token(token.type, token.string, token.start[0] - first, token.start[1])


def moved(outcome: CheckOutcome, lines_of: Callable[[str], MovedLines | None]) -> CheckOutcome:
    """An outcome with all its places moved. lines_of: where the lines of a file are now, None if nothing changed.

    Raises:
        KeyError: a place is on a line without code.
    """

    def at(path: str, place: Position) -> Position:
        lines = lines_of(path)
        return place if lines is None else replace(place, line=lines.now[place.line])

    def note(each: Note) -> Note:
        return each._replace(start=at(each.path, each.start))

    def related(each: Related) -> Related:
        return each._replace(start=at(each.path, each.start))

    def guard(each: Guard) -> Guard:
        return each._replace(start=at(each.path, each.start), end=at(each.path, each.end))

    def fix(each: Fix) -> Fix:
        return replace(each, conditions=tuple(map(note, each.conditions)))

    def finding(each: Finding) -> Finding:
        return replace(
            each,
            start=at(each.path, each.start),
            end=at(each.path, each.end),
            because=tuple(map(note, each.because)),
            fix=fix(each.fix) if each.fix else None,
            also=tuple(map(related, each.also)),
            branches=tuple(at(each.path, place) for place in each.branches),
            guard=guard(each.guard) if each.guard else None,
        )

    found, unasked = (tuple(map(finding, each)) for each in (outcome.findings, outcome.unasked))
    return CheckOutcome(found, unasked, outcome.error)
