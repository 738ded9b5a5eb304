"""The words of a shell command, without quotes and with the script's variables expanded."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trl_lint.launch.commands.commands import Word
from trl_lint.launch.parsers.shell_tree import Tree

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Pieces:
    """A string of which only parts are known: None for each of the others."""

    parts: tuple[str | None, ...]


# A variable's value: a string, the words of an array, or None if it is unknown.
Value = str | tuple[str | None, ...] | Pieces | None
# Longer values count as unknown, so that `A=$A$A` can't grow without end.
LONGEST = 4_000
MOST_WORDS = 1_000
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_STRING = re.compile(r"\\([\n$`\"\\])")
_EXPANSIONS = frozenset({"simple_expansion", "expansion"})
_PARAMETERS = frozenset({"@", "*"})
_BLANKS = re.compile(r"(\s+)")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, and the span of the passage from which it was read."""

    word: Word
    start: int
    end: int


@dataclass(slots=True)
class Variables:
    """The variables set so far. arguments: those of the function being run, None outside of one."""

    values: dict[str, Value] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    arguments: tuple[Word, ...] | None = None

    def copy(self) -> Variables:
        return Variables(dict(self.values), set(self.exported), self.arguments)

    def environment(self) -> dict[str, str | None]:
        """The environment of a command; an array counts as unknown."""
        found = {name: self.values.get(name) for name in self.exported}
        return {name: value if isinstance(value, str) else None for name, value in found.items()}

    def join(self, other: Variables) -> None:
        """Keep what holds whether this or the other has run."""
        for name in self.values.keys() | other.values.keys():
            if self.values.get(name, ...) != other.values.get(name, ...):
                self.values[name] = None
        self.exported |= other.exported


@dataclass(frozen=True, slots=True)
class _Text:
    """A part of a word. value: None if unknown. loose: from an expansion without quotes, to be split."""

    value: str | None
    loose: bool = False


class Reader:
    """Converts nodes to words."""

    def __init__(self, tree: Tree, variables: Variables) -> None:
        self._tree = tree
        self.variables = variables

    def tokens(self, node: Node) -> list[Token]:
        """The words that one argument expands to: several for `$ARGS` or `"${ARGS[@]}"`."""
        start, end = self._tree.start(node), self._tree.end(node)
        node = node.named_children[0] if node.type == "command_name" and len(node.named_children) == 1 else node
        several = self._several(node)
        if several is None:
            texts = self._texts(node)
            several = self._split(node, texts)
            if several is None:
                return [Token(self._word(start, end, texts), start, end)]
        first, last, exact = self._tree.passage.span(start, end)
        exact = exact and len(several) == 1
        raw = self._tree.passage.text[start:end]
        words = (Word(_joined(each), first, last, _written(each, raw), exact, _tail(each)) for each in several)
        return [Token(each, start, end) for each in words]

    def value(self, node: Node) -> Value:
        """The value that a variable is assigned."""
        if node.type == "array":
            tokens = (each for child in node.named_children for each in self.tokens(child))
            words = tuple(each.word.value for each in itertools.islice(tokens, MOST_WORDS + 1))
            return words if len(words) <= MOST_WORDS else None
        return value_of([each.value for each in self._texts(node)])

    def _word(self, start: int, end: int, texts: list[_Text]) -> Word:
        first, last, exact = self._tree.passage.span(start, end)
        value = _joined(texts)
        return Word(value, first, last, self._tree.passage.text[start:end], exact, _tail(texts))

    def _several(self, node: Node) -> list[list[_Text]] | None:
        """The words of `"$@"` in a function with known arguments, and of whole arrays."""
        inner = node.named_children[0] if node.type == "string" and len(node.named_children) == 1 else node
        if inner.type not in _EXPANSIONS or _bytes(inner) + 2 * (inner is not node) != _bytes(node):
            return None
        name = self._tree.text(inner).strip("${}")
        if name in _PARAMETERS:
            arguments = self.variables.arguments
            return None if arguments is None else [[_Text(each.value)] for each in arguments]
        value = self.variables.values.get(re.sub(r"\[[@*]\]\Z", "", name))
        return [[_Text(each)] for each in value] if isinstance(value, tuple) and name.endswith("]") else None

    def _split(self, node: Node, texts: list[_Text]) -> list[list[_Text]] | None:
        """The fields of a variable without quotes."""
        if node.type not in _EXPANSIONS or len(texts) != 1:
            return None
        if texts[0].value is not None:
            return _fields([texts[0].value])
        value = self.variables.values.get(self._tree.text(node).strip("${}"))
        return _fields(value.parts) if isinstance(value, Pieces) else None

    def _texts(self, node: Node) -> list[_Text]:
        kind = node.type
        if kind == "command_name":
            return [text for child in node.children for text in self._texts(child)]
        if kind in ("word", "number") and not node.children:
            raw = self._tree.text(node)
            return [_Text(_ESCAPED.sub(lambda match: "" if match[1] == "\n" else match[1], raw))]
        if kind == "raw_string":
            return [_Text(self._tree.text(node)[1:-1])]
        if kind in ("string", "translated_string"):
            return self._in_string(node)
        if kind == "concatenation":
            return [self._loosely(text) for child in node.children for text in self._texts(child)]
        if kind in _EXPANSIONS:
            return [_Text(self._expanded(node), loose=True)]
        return [_Text(None)]

    def _loosely(self, text: _Text) -> _Text:
        spaced = text.loose and text.value is not None and len(text.value.split()) != 1
        return _Text(None) if spaced else text

    def _in_string(self, node: Node) -> list[_Text]:
        """The parts of a string in double quotes.

        The grammar's nodes leave out some blanks, and have the blanks between two expansions as a part of the second.
        """
        found: list[_Text] = []
        place = self._tree.start(node) + 1
        end = self._tree.end(node) - 1
        for child in [each for each in node.named_children if each.type != "string_content"]:
            text = self._tree.text(child)
            found.append(self._plain(place, self._tree.start(child) + len(text) - len(text.lstrip())))
            found += [_Text(text.value) for text in self._texts(child)]
            place = self._tree.end(child)
        return [*found, self._plain(place, end)]

    def _plain(self, start: int, end: int) -> _Text:
        text = self._tree.passage.text[start:end]
        return _Text(_ESCAPED_IN_STRING.sub(lambda match: "" if match[1] == "\n" else match[1], text))

    def _expanded(self, node: Node) -> str | None:
        raw = self._tree.text(node).lstrip()
        match = re.fullmatch(r"\$\{?(\w+)(?:(:?[-=])(.*))?\}?", raw, re.DOTALL)
        if match is None:
            return None
        value = self._variable(match[1])
        if value is not None or match[2] is None:
            return value
        default = match[3].removesuffix("}")
        return None if re.search(r"[$`\\{}]", default) else default.strip("\"'")

    def _variable(self, name: str) -> str | None:
        if name.isdigit():
            arguments = self.variables.arguments or ()
            return arguments[int(name) - 1].value if 0 < int(name) <= len(arguments) else None
        value = self.variables.values.get(name)
        if isinstance(value, tuple):
            return value[0] if value else ""
        return None if isinstance(value, Pieces) else value


def value_of(parts: Iterable[str | None]) -> Value:
    """The string of these parts, as far as it is known; None for each part that is not."""
    merged = tuple(
        None if is_unknown else "".join(each or "" for each in group)
        for is_unknown, group in itertools.groupby((each for each in parts if each != ""), lambda each: each is None)
    )
    if merged == (None,) or sum(len(each or "") for each in merged) > LONGEST:
        return None
    return Pieces(merged) if None in merged else "".join(each or "" for each in merged)


def parts_of(value: Value) -> tuple[str | None, ...]:
    """The parts of a string; those of an array are not known here."""
    if isinstance(value, Pieces):
        return value.parts
    return (value if isinstance(value, str) else None,)


def _fields(parts: Iterable[str | None]) -> list[list[_Text]]:
    """The words of a text without quotes. What is unknown belongs to one of them, or is one by itself."""
    found: list[list[_Text]] = [[]]
    for part in parts:
        for piece in [None] if part is None else _BLANKS.split(part):
            if piece is None or piece.strip():
                found[-1].append(_Text(piece))
            elif piece:
                found.append([])
    return [each for each in found if each]


def _written(texts: Sequence[_Text], raw: str) -> str:
    """How a word is written: as `raw`, but what is known of a word with unknown parts says more."""
    is_known_in_part = len(texts) > 1 and any(each.value is None for each in texts)
    return "".join("$" if each.value is None else each.value for each in texts) if is_known_in_part else raw


def _joined(texts: Sequence[_Text]) -> str | None:
    if any(each.value is None for each in texts) or sum(len(each.value or "") for each in texts) > LONGEST:
        return None
    return "".join(each.value or "" for each in texts)


def _tail(texts: Sequence[_Text]) -> str:
    known: list[str] = []
    length = 0
    for each in reversed(texts):
        if each.value is None or length > LONGEST:
            break
        known.append(each.value)
        length += len(each.value)
    return "".join(reversed(known))[-LONGEST:]


def assigned(environment: Mapping[str, str | None]) -> Variables:
    """The variables of a script that starts with this environment."""
    return Variables(dict(environment), set(environment))


def _bytes(node: Node) -> int:
    return node.end_byte - node.start_byte
