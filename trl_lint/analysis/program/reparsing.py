"""The tree of a text that was changed in a place or two: what has the same text as before keeps its nodes.

    def f(x):                    def f(x):
        return g(x)                  return g(x)        its nodes are those of the old tree

    def g(x):            ->      def g(x):
        return x                     return x + 1       parsed anew

Parsing all of a large file takes longer than a keystroke should; trees never change, so that they may share nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import libcst as cst

from trl_lint.analysis.program.depth import TooDeep
from trl_lint.analysis.program.partial_trees import WaitingBlock, functions_of, is_whole, partly_parsed

# What a body was parsed from: its text, and what the file is indented by.
_Read: TypeAlias = tuple[str, str]


def reparsed(text: str, before: cst.Module | None) -> cst.Module | None:
    """The tree of a text, with the nodes of an earlier one wherever a whole function has the same text.

    None where the text has to be parsed as a whole to say what it is, or what is wrong with it.
    """
    try:
        tree = partly_parsed(text)
    except (TooDeep, cst.ParserSyntaxError, cst.CSTValidationError):
        return None
    known: dict[_Read, list[WaitingBlock]] = {}
    for block in _blocks(before) if before is not None else ():
        known.setdefault(_read_of(block), []).append(block)
    for block in _blocks(tree):
        same = known.get(_read_of(block))
        if same:  # each of them once, as no node may stand in a tree twice
            block.take(same.pop())
    return tree if is_whole(tree) else None


def _blocks(tree: cst.Module) -> Iterator[WaitingBlock]:
    for function in functions_of(tree.body):
        body = function.body
        if isinstance(body, WaitingBlock):
            yield body


def _read_of(block: WaitingBlock) -> _Read:
    return block.text, block.default_indent
