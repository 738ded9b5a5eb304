"""Provenance: the places that explain a fact, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from libcst import CSTNode
    from libcst import Module as Tree
    from libcst.metadata import CodeRange


class SourceModule(Protocol):
    """A file that was parsed, as far as who explains a fact has to know it."""

    path: Path
    tree: Tree
    # The range of every node, once somebody has asked for one.
    positions: Mapping[CSTNode, CodeRange] | None

    @property
    def text(self) -> str: ...


class Step:
    """One place of the chain that explains a fact: newest first, linked to what came before.

    `{}` in the text stands for the source of the node, which is only looked up when the step is shown.
    """

    __slots__ = ("before", "module", "node", "text")

    def __init__(self, module: SourceModule, node: CSTNode, text: str, before: Step | None = None) -> None:
        self.module = module
        self.node = node
        self.text = text
        self.before = before


class OwnFile(Step):
    """A rank looks for a file of its own making: the others may find theirs at another moment, or not at all."""

    __slots__ = ()


class SharedName(Step):
    """Ranks may find the same name here: that of a file in a folder of all of them, or the time in whole seconds."""

    __slots__ = ()


class OneByOne(Step):
    """All ranks get there, one after the other."""

    __slots__ = ()
