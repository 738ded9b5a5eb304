"""Makefiles: recipe lines, each run by its own shell, with the file's variables expanded."""

from __future__ import annotations

import re
import warnings
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from trl_lint.launch.commands.commands import CommandContext, Commands, TooMuch, Unreadable
from trl_lint.launch.commands.source_map import Passage
from trl_lint.launch.parsers import shell
from trl_lint.launch.parsers.shell_tree import Tree

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LARGEST = 500_000
# How often variables are expanded inside variables.
DEEPEST = 8
LONGEST = 4_000
# How many characters the expansion of variables may add to a file.
MOST_EXPANDED = 1_000_000
_REFERENCE = re.compile(r"\$(?:\$|\(([\w.-]+)\)|\{([\w.-]+)\})")
# A recipe line without one of these starts no Python.
_NEEDLE = re.compile(r"py|uv run|torchrun|accelerate|deepspeed", re.IGNORECASE)
_EXPORT = re.compile(
    r"^(?:[^\s#:=][^#:=\n]*:)?[ \t]*export[ \t]+([A-Za-z_]\w*)[ \t]*(?:[:?]{0,2}=(.*)|$)", re.MULTILINE
)


def commands(text: str) -> Commands:
    """The commands of a Makefile's recipes."""
    yield from read(Passage.whole(text), CommandContext("makefile"))


def read(passage: Passage, surroundings: CommandContext) -> Commands:
    if len(passage.text) > LARGEST:
        raise Unreadable(f"a Makefile of {len(passage.text)} characters is not looked at")
    data = passage.text.encode("utf-8", "replace")
    tree = Tree(passage, _parser().parse(data).root_node, data)
    variables = _Variables(_variables(tree))
    exported = dict(surroundings.environment)
    for match in _EXPORT.finditer(passage.text):
        exported[match[1]] = variables.of(match[1]) if match[2] is None else variables.value(match[2].strip(" \t\r"))
    context = replace(surroundings, kind="makefile", environment=exported)
    one_shell = re.search(r"^\.ONESHELL:", passage.text, re.MULTILINE) is not None
    for recipe in _recipes(tree.root):
        lines = [each for each in recipe.children if each.type == "recipe_line"]
        pieces = [(tree.start(each), tree.end(each)) for each in lines]
        if one_shell and pieces:
            pieces = [(pieces[0][0], pieces[-1][1])]
        for start, end in pieces:
            line = _expanded(passage.part(*_without_prefix(passage.text, start, end)), variables)
            if _NEEDLE.search(line.text):
                yield from shell.read(line, context)


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_make

    with warnings.catch_warnings():
        # The grammar's wheel still passes a plain integer.
        warnings.simplefilter("ignore", DeprecationWarning)
        return tree_sitter.Parser(tree_sitter.Language(tree_sitter_make.language()))


def _recipes(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "recipe":
            yield node
        stack.extend(reversed(node.children))


def _variables(tree: Tree) -> dict[str, str | None]:
    """Variables with the same value in the whole file; None for others, such as those set twice in a conditional."""
    found: dict[str, str | None] = {}
    stack = [tree.root]
    while stack:
        node = stack.pop()
        if node.type == "variable_assignment":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            text = tree.text(name) if name is not None else ""
            new = tree.text(value).strip() if value is not None else ""
            plain = not any(child.type in ("+=", "!=") for child in node.children)
            found[text] = new if plain and found.get(text, new) == new else None
        elif node.type != "recipe" or any(child.type == "conditional" for child in node.children):
            stack.extend(reversed(node.children))
    return found


class _Variables:
    """The expanded values of a file's variables; each is computed once."""

    def __init__(self, texts: Mapping[str, str | None]) -> None:
        self._texts = texts
        self._known: dict[str, str | None] = {}
        self._left = MOST_EXPANDED

    def of(self, name: str) -> str | None:
        """The value of a variable; None if it is unknown, or too long."""
        if name not in self._known:
            text = self._texts.get(name)
            self._known[name] = None if text is None else self.value(text)
        return self._known[name]

    def value(self, text: str) -> str | None:
        """The text with variables expanded; None if one is unknown, or the text gets too long."""
        for _ in range(DEEPEST):
            if len(text) > LONGEST or "$" not in text:
                break
            put = self._once(text)
            if put is None:
                return None
            text = put
        return None if "$" in text or len(text) > LONGEST else text

    def _once(self, text: str) -> str | None:
        pieces: list[str] = []
        last = size = 0
        for match in _REFERENCE.finditer(text):
            put = self._texts.get(match[1] or match[2] or "")
            if put is None or size > LONGEST:
                return None
            pieces += [text[last : match.start()], put]
            size += len(put)
            last = match.end()
        self.spend(size)
        return "".join([*pieces, text[last:]])

    def spend(self, characters: int) -> None:
        """Count the expanded characters.

        Raises:
            TooMuch: there are more than any file needs.
        """
        self._left -= characters
        if self._left < 0:
            raise TooMuch(f"variables expand to more than {MOST_EXPANDED:,} characters")


def _without_prefix(text: str, start: int, end: int) -> tuple[int, int]:
    """A recipe line without its `@`, `-` and `+`."""
    while start < end and text[start] in "@-+ \t":
        start += 1
    return start, end


def _expanded(passage: Passage, variables: _Variables) -> Passage:
    """The line as passed to the shell. Expanded text has the position of its reference."""
    text: list[str] = []
    at = array("q")
    last = 0
    for match in _REFERENCE.finditer(passage.text):
        text.append(passage.text[last : match.start()])
        at.extend(passage.at[last : match.start()])
        name = match[1] or match[2]
        # An unknown variable is kept as written: to the shell's parser it is unknown as well.
        put = ("$" if name is None else variables.of(name)) or match[0]
        variables.spend(len(put))
        text.append(put)
        places = passage.at[match.start() : match.end()]
        at.extend(places if put == match[0] else [places[0], *[places[-1]] * len(put)][: len(put)])
        last = match.end()
    text.append(passage.text[last:])
    at.extend(passage.at[last : len(passage.text) + 1])
    return Passage(passage.file, "".join(text), at)
