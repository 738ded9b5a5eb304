"""Makefiles: recipe lines, each a shell of its own, with the file's variables put in."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from trl_lint.launch import shell
from trl_lint.launch.commands import Commands, Surroundings, Unreadable
from trl_lint.launch.passages import Passage
from trl_lint.launch.shell_words import Tree

LARGEST = 500_000
# How often variables are put into variables.
DEEPEST = 8
LONGEST = 4_000
_REFERENCE = re.compile(r"\$(?:\$|\(([\w.-]+)\)|\{([\w.-]+)\})")
# A recipe line without these starts no Python.
_NEEDLE = re.compile(r"py|uv run", re.IGNORECASE)
_EXPORT = re.compile(
    r"^(?:[^\s#:=][^#:=\n]*:)?[ \t]*export[ \t]+([A-Za-z_]\w*)[ \t]*(?:[:?]{0,2}=[ \t]*(.*?))?[ \t]*$", re.MULTILINE
)


def commands(text: str) -> Commands:
    """The commands of a Makefile's recipes."""
    yield from read(Passage.whole(text), Surroundings("makefile"))


def read(passage: Passage, surroundings: Surroundings) -> Commands:
    if len(passage.text) > LARGEST:
        raise Unreadable(f"a Makefile of {len(passage.text)} characters is not looked at")
    data = passage.text.encode("utf-8", "replace")
    tree = Tree(passage, _parser().parse(data).root_node, data)
    variables = _variables(tree)
    exported = dict(surroundings.environment)
    for match in _EXPORT.finditer(passage.text):
        value = variables.get(match[1]) if match[2] is None else match[2]
        exported[match[1]] = None if value is None else _value(value, variables)
    here = Surroundings("makefile", exported, surroundings.hints, surroundings.around)
    one_shell = re.search(r"^\.ONESHELL:", passage.text, re.MULTILINE) is not None
    for recipe in _recipes(tree.root):
        lines = [each for each in recipe.children if each.type == "recipe_line"]
        pieces = [(tree.start(each), tree.end(each)) for each in lines]
        if one_shell and pieces:
            pieces = [(pieces[0][0], pieces[-1][1])]
        for start, end in pieces:
            line = _expanded(passage.part(*_less_prefix(passage.text, start, end)), variables)
            if _NEEDLE.search(line.text):
                yield from shell.read(line, here)


@cache
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_make

    with warnings.catch_warnings():
        # The grammar's wheel still hands over a plain integer.
        warnings.simplefilter("ignore", DeprecationWarning)
        return tree_sitter.Parser(tree_sitter.Language(tree_sitter_make.language()))


def _recipes(node: Any) -> Iterator[Any]:
    stack = [node]
    while stack:
        here = stack.pop()
        if here.type == "recipe":
            yield here
        stack.extend(reversed(here.children))


def _variables(tree: Tree) -> dict[str, str | None]:
    """Variables that the whole file gives one value; others, and those set in a conditional twice, are unknown."""
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


def _value(text: str, variables: Mapping[str, str | None]) -> str | None:
    """The text with variables put in, None where one is unknown."""
    for _ in range(DEEPEST):
        names = {match[1] or match[2] for match in _REFERENCE.finditer(text)} - {None}
        if not names:
            break
        if any(variables.get(each) is None for each in names):
            return None
        text = _REFERENCE.sub(lambda match: variables.get(match[1] or match[2] or "") or match[0], text)
        if len(text) > LONGEST:
            return None
    return None if "$" in text else text


def _less_prefix(text: str, start: int, end: int) -> tuple[int, int]:
    """A recipe line less its `@`, `-` and `+`."""
    while start < end and text[start] in "@-+ \t":
        start += 1
    return start, end


def _expanded(passage: Passage, variables: Mapping[str, str | None]) -> Passage:
    """The line as the shell gets it. What is put in stands, for us, where its reference does."""
    text: list[str] = []
    at: list[int] = []
    last = 0
    for match in _REFERENCE.finditer(passage.text):
        text.append(passage.text[last : match.start()])
        at.extend(passage.at[last : match.start()])
        name = match[1] or match[2]
        # An unknown variable stays as it is written: to the shell's parser it is something unknown as well.
        put = "$" if name is None else _value(variables.get(name) or "$", variables)
        put = match[0] if put is None else put
        text.append(put)
        places = passage.at[match.start() : match.end()]
        at.extend(places if put == match[0] else [places[0], *[places[-1]] * len(put)][: len(put)])
        last = match.end()
    text.append(passage.text[last:])
    at.extend(passage.at[last : len(passage.text) + 1])
    return Passage(passage.file, "".join(text), at)
