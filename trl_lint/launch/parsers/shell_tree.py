"""The syntax tree of shell text."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from trl_lint.launch.commands.commands import Unreadable
from trl_lint.launch.commands.source_map import Passage

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# Limits for input that is slow to parse and that is no script written by a person.
LARGEST = 300_000
MOST_HEREDOCS = 300
# A line that is meant to go on, with blanks after its backslash: the shell takes the first of them for a word.
_MEANT_TO_GO_ON = re.compile(rb"\\([ \t]+)(?=\r?\n)")


class Tree:
    """A syntax tree over a passage. Nodes count bytes, positions here count characters."""

    def __init__(self, passage: Passage, root: Node, data: bytes) -> None:
        self.passage = passage
        self.root = root
        self._index: Sequence[int] = range(len(data) + 1) if data.isascii() else character_index(data)

    def start(self, node: Node) -> int:
        return self._index[node.start_byte]

    def end(self, node: Node) -> int:
        return self._index[node.end_byte]

    def text(self, node: Node) -> str:
        return self.passage.text[self.start(node) : self.end(node)]


def character_index(data: bytes) -> Sequence[int]:
    """For each byte of a text's UTF-8 the index of its character, and at the end the number of characters."""
    index = array("q")
    count = -1
    for byte in data:
        count += byte & 0xC0 != 0x80
        index.append(count)
    index.append(count + 1)
    return index


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(passage: Passage) -> Tree:
    if len(passage.text) > LARGEST:
        raise Unreadable(f"a shell script of {len(passage.text)} characters is not looked at")
    if passage.text.count("<<") > MOST_HEREDOCS:
        raise Unreadable(f"a shell script with more than {MOST_HEREDOCS} here-documents is not looked at")
    data = _MEANT_TO_GO_ON.sub(rb"\1\\", passage.text.encode("utf-8", "replace"))
    return Tree(passage, _parser().parse(data).root_node, data)
