"""How deeply a text is nested, measured before a recursive parser sees it.

LibCST's parser is native code: if it runs out of stack, the process dies. It also keeps a copy of each expression for
each expression around it, so that time and memory grow with the square of the depth, and its attempts to parse `case`
patterns double with each bracket. The measured depth is an upper bound, in units of what each kind of nesting costs the
parser: one pass over the text, without a tree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from trl_lint.analysis.program.project.logical_lines import LogicalLine, logical_lines
from trl_lint.analysis.program.project.source_text import end_of_long

# The greatest depth of an expression, in units: a term of a sum, an `and` or one of several adjacent strings is one.
MAX_DEPTH = 3000
# A call, subscript or attribute of the operand before it; an operator that makes a tree grow to the right (`not`, `-`,
# `lambda`).
_LINK, _PREFIX = 3, 3
# A bracket: MAX_DEPTH allows for 200 of them, like Python itself.
_BRACKET = 15
# The greatest number of brackets around a part of a pattern.
MAX_IN_PATTERN = 6
# The greatest number of `elif` in a text, as each is nested in the one before.
MAX_ELIFS = 20_000
# The greatest sum of the depths of all places of a text, in addition to the usual depth per character.
MAX_WORK, _USUAL_WORK = 5_000_000, 4


class TooDeep(Exception):
    """A text that is nested too deeply to be parsed. `line` counts from 1: where the statement starts."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


# The tokens that affect the depth of a place; names are matched whole, so that none is split.
_TOKEN = re.compile(
    r"""(?P<quote>(?:[rR][bBfFtT]?|[bBfFtTuU][rR]?)?(?:\"{3}|'{3}|"|'))"""
    r"""|\d\w*(?:\.\d\w*)?|\.\d\w*|\w+|\.{3}|\*\*=?|//=?|<<=?|>>=?|->|:=|[-+*/%@&|^]=?|[()\[\]{},;:.~\n\r]"""
    r"""|\\\r?\n|\#[^\r\n]*"""
)
_REST_OF_SHORT = {
    quote: re.compile(rf"[^{quote}\\\r\n]*(?:\\(?:\r\n|.|\n)[^{quote}\\\r\n]*)*{quote}?") for quote in "\"'"
}
# What matters in the text of an f-string: escapes are skipped, though none hides a brace.
_IN_TEXT = {
    quotes: re.compile(rf"\{{\{{|\}}\}}|[{{}}]|\\(?:\r\n|[^{{}}])|{quotes}{line_end}")
    for quotes, line_end in (('"', r"|[\r\n]"), ("'", r"|[\r\n]"), ('"""', ""), ("'''", ""))
}
_BINARY = frozenset(["+", "-", "*", "/", "//", "%", "@", "&", "|", "^", "<<", ">>"])
_WORDS = frozenset(["and", "or", "for", "not", "else", "await", "lambda", "elif", "case", "if"])
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_NO_PATTERN = re.compile(r"\s*(?:[=.,:)\]]|$)")


class _Level:
    """An open level: a bracket, the parameters of a lambda, the field of an f-string, or a statement."""

    __slots__ = ("around", "best", "inner", "kind", "links", "operators", "quote", "widest")

    def __init__(self, kind: str, around: int, quote: str = "") -> None:
        self.kind = kind
        self.quote = quote
        self.around = around  # the depth of the place where it was opened
        self.best = 0  # the depth of the deepest item
        self.operators = 0  # in the current item: how many may be around each of its operands
        self.widest = 0  # the depth of its deepest operand
        self.links = 0  # in the current operand: calls, attributes, …
        self.inner = 0  # the depth of the deepest bracket in it

    @property
    def here(self) -> int:
        return self.around + self.operators + self.links

    def next_operand(self) -> None:
        if self.links or self.inner:
            self.widest = max(self.widest, self.links + self.inner)
            self.links = self.inner = 0

    def next_item(self) -> int:
        """End an item (the text between two commas); return the depth of the deepest so far."""
        self.next_operand()
        self.best = max(self.best, self.operators + self.widest)
        self.operators = self.widest = 0
        return self.best


def measure(text: str) -> None:
    """Check the nesting of a text, in one pass.

    Raises:
        TooDeep: it is nested more deeply than the parser, and all code that recurses into its tree, can handle.
    """
    lines = logical_lines(text)
    if lines is None or not _is_shallow(text, lines):
        _Measure(text).run()


# Characters that add to the depth of a place, each at most as much as a prefix or a link (and brackets as much more).
_SIGNS = b"-+*/%@&|^~<>.([{\"'"
_NO_SIGNS = bytes(set(range(256)) - set(_SIGNS))
_SIGN_WORDS = ("and", "or", "not", "else", "await", "lambda")  # "for" holds one of them
# Shorter lines need not be searched for words. With more brackets than this a pattern may be too deep.
_SHORT, _FLAT = 200, MAX_IN_PATTERN - 1


def _is_shallow(text: str, lines: Sequence[LogicalLine]) -> bool:
    """Whether no line exceeds the limits, estimated from operators and brackets; few lines need a full measurement."""
    work = deepest = 0
    letters = text.encode("latin-1", "replace")
    for start, end, brackets in lines:
        signs = len(letters[start:end].translate(None, _NO_SIGNS))
        words = (end - start) // 3 if end - start <= _SHORT else _words_in(text, start, end)
        depth = _BRACKET * (brackets + 1) + _PREFIX * (signs + words)
        if brackets <= _FLAT and depth <= MAX_DEPTH:
            work += signs * depth
            deepest = max(deepest, depth)
        else:
            line = _Measure(text[start:end])
            try:
                line.run()
            except TooDeep:
                return False
            work += line.work
    work += _words_in(text, 0, len(text)) * deepest
    return work <= MAX_WORK + _USUAL_WORK * len(text) and text.count("elif") <= MAX_ELIFS


def _words_in(text: str, start: int, end: int) -> int:
    """The greatest possible number of word operators in a part of a text."""
    return sum(text.count(word, start, end) for word in _SIGN_WORDS)


class _Measure:
    def __init__(self, text: str) -> None:
        self.text = text
        self.levels = [_Level("", 0)]
        self.statement = 0  # where the current one starts
        self.work = 0
        self.elifs = 0
        self.in_pattern = False
        self.text_goes_on = ""  # the quotes of the f-string in whose field the code is at its end
        self.budget = MAX_WORK + _USUAL_WORK * len(text)

    def run(self) -> None:
        place: int | None = 0
        while place is not None:
            place = self._code(place)
        while len(self.levels) > 1:
            self._close()
        self._end_item()

    def _code(self, place: int) -> int | None:
        """Process code from `place`; return the place after a string, where to continue, or None at the end."""
        after_operand = after_string = after_dot = False
        if place:
            after_operand = after_string = self.text[place - 1] in "\"'"
        for match in _TOKEN.finditer(self.text, place):
            token = match[0]
            level = self.levels[-1]
            if match.lastindex:
                if not after_string:
                    level.next_operand()
                level.links += 1
                return self._string(token, match.end())
            first = token[0]
            if first.isalnum() or first == "_":
                if not after_dot and token in _WORDS:
                    after_operand = self._word(token, match)
                else:
                    if not after_dot:
                        level.next_operand()
                    after_operand = True
            elif first in "#\\" or (first in "\r\n" and len(self.levels) > 1):
                continue
            elif token == "." and after_operand:
                level.links += _LINK
                self.work += level.here
                after_dot = True
                continue
            else:
                after_operand = self._mark(token, match, after_operand)
                if self.text_goes_on:
                    return self._text_of(self.text_goes_on, match.end())
            after_string = after_dot = False
        return None

    def _mark(self, token: str, match: re.Match[str], after_operand: bool) -> bool:
        """Process a bracket, a separator or an operator; return whether an operand may end with it."""
        level, first = self.levels[-1], token[0]
        if first in _OPENING:
            if after_operand:
                level.links += _LINK
            else:
                level.next_operand()
            self._open(first)
        elif first in _CLOSING:
            self.text_goes_on = self._close_bracket(first)
            return True
        elif first in "\r\n":
            self._end_item()
            self.statement, self.in_pattern = match.end(), False
        elif first == ".":
            level.next_operand()
            return len(token) > 1
        elif first == "," or (first == ";" and len(self.levels) == 1):
            self._end_item()
        elif token == ":":
            self._colon()
        elif token in _BINARY or first == "~" or token == "**":
            level.next_operand()
            level.operators += 1 if token in _BINARY and after_operand else _PREFIX
            self.work += level.here
        return False

    def _colon(self) -> None:
        level = self.levels[-1]
        if level.kind == "lambda":
            self._close()
        elif level.kind == "field":
            level.kind = "format"
            self.text_goes_on = level.quote
        elif len(self.levels) == 1:
            self.in_pattern = False

    def _word(self, token: str, match: re.Match[str]) -> bool:
        """Process a keyword; return whether an operand may end with it."""
        level = self.levels[-1]
        if token in ("and", "or", "for"):
            level.next_operand()
            level.operators += 1
            return False
        if token in ("not", "else", "await", "lambda"):
            level.next_operand()
            level.operators += _PREFIX
            self.work += level.here
            if token == "lambda" and level.kind not in ("field", "format"):
                self._open("lambda")
            return False
        if len(self.levels) == 1:
            if token == "elif":
                self.elifs += 1
                if self.elifs > MAX_ELIFS:
                    self._fail(f"more than {MAX_ELIFS} `elif`")
            elif token == "case":
                begins = not self.text[self.statement : match.start()].strip()
                self.in_pattern = begins and not _NO_PATTERN.match(self.text, match.end())
            elif token == "if":
                self.in_pattern = False
        level.next_operand()
        return True

    # --- levels ---

    def _open(self, kind: str, quote: str = "") -> None:
        level = self.levels[-1]
        cost = _PREFIX if kind == "lambda" else _BRACKET
        self.levels.append(_Level(kind, level.here + cost, quote))
        if level.here + cost > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} deep")
        if self.in_pattern and len(self.levels) > MAX_IN_PATTERN + 1:
            self._fail(f"more than {MAX_IN_PATTERN} brackets in a pattern")
        self.work += level.here

    def _close(self) -> _Level:
        closed = self.levels.pop()
        level = self.levels[-1]
        cost = _PREFIX if closed.kind == "lambda" else _BRACKET
        level.inner = max(level.inner, closed.next_item() + cost)
        self._check(level.inner)
        return closed

    def _close_bracket(self, bracket: str) -> str:
        """Close the level of a bracket; return the quotes of the f-string if it was the bracket of a field."""
        while self.levels[-1].kind == "lambda":
            self._close()
        if len(self.levels) == 1:
            return ""
        closed = self._close()
        return closed.quote

    def _end_item(self) -> None:
        self._check(self.levels[-1].next_item())

    def _check(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} deep")
        if self.work > self.budget:
            self._fail("too much of it")

    def _fail(self, message: str) -> None:
        line = len(re.findall(r"\r\n|\r|\n", self.text[: self.statement])) + 1
        raise TooDeep(line, f"nested too deeply ({message})")

    # --- strings ---

    def _string(self, opening: str, place: int) -> int | None:
        quotes = opening.lstrip("rRbBfFtTuU")
        if any(letter in opening for letter in "fFtT"):
            return self._text_of(quotes, place)
        if len(quotes) == 3:
            end = end_of_long(self.text, place, quotes)
            return end if end >= 0 else None
        return _REST_OF_SHORT[quotes].match(self.text, place).end()  # type: ignore[union-attr]

    def _text_of(self, quotes: str, place: int) -> int | None:
        """Process the text of an f-string (or of a format spec in it), up to the next code."""
        self.text_goes_on = ""
        for match in _IN_TEXT[quotes].finditer(self.text, place):
            token = match[0]
            in_format = self.levels[-1].kind == "format"
            if token == "{" or (token == "{{" and in_format):
                self._open("field", quotes)
                return match.start() + 1
            if token in ("}", "}}") and in_format:
                self._close()
                if token == "}}":
                    return self._text_of(quotes, match.start() + 1)
            elif token == quotes:
                return match.end()
            elif token in ("\r", "\n"):
                return match.start()
        return None
