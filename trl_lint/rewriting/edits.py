"""What a fix does to a tree: few primitive edits, which every codemod applies in the same way.

A planner (one module of this package per rule) builds them from the nodes a rule found; the codemods know
nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import libcst as cst


@dataclass(frozen=True, slots=True, eq=False)
class Replace:
    """An expression takes the place of another one."""

    node: cst.BaseExpression
    by: cst.BaseExpression


@dataclass(frozen=True, slots=True, eq=False)
class Insert:
    """A statement is put before a statement of the tree, or behind it. The same text is put there only once."""

    anchor: cst.BaseStatement
    code: str
    behind: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """A module, or one of its names, that the new code needs."""

    module: str
    name: str | None = None


Edit = Replace | Insert | Import


@dataclass(frozen=True, slots=True, eq=False)
class Rewrite:
    """How to mend one finding."""

    edits: tuple[Edit, ...]

    def replaced(self) -> tuple[cst.BaseExpression, ...]:
        return tuple(edit.node for edit in self.edits if isinstance(edit, Replace))


@dataclass(frozen=True, slots=True)
class NoRewrite:
    """Why there is only a hint. `text` is code the author may write instead, where it is known."""

    reason: str
    text: str = ""


def merged(rewrites: Iterable[Rewrite]) -> Rewrite | None:
    """One rewrite that does all of these; None when two of them put different things in one place."""
    edits: list[Edit] = []
    replaced: dict[int, cst.BaseExpression] = {}
    for rewrite in rewrites:
        for edit in rewrite.edits:
            if isinstance(edit, Replace):
                other = replaced.setdefault(id(edit.node), edit.by)
                if other is not edit.by:
                    if not other.deep_equals(edit.by):
                        return None
                    continue
            edits.append(edit)
    return Rewrite(tuple(edits))


def independent(rewrites: Iterable[Rewrite]) -> list[bool]:
    """For each rewrite, in order, whether it can be made together with those before it that can."""
    taken: set[int] = set()
    around: set[int] = set()
    verdicts = []
    for rewrite in rewrites:
        nodes = rewrite.replaced()
        inside = {id(each) for node in nodes for each in _below(node)}
        clear = inside.isdisjoint(taken) and not any(id(node) in around for node in nodes)
        if clear:
            taken |= {id(node) for node in nodes}
            around |= inside
        verdicts.append(clear)
    return verdicts


def _below(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        todo.extend(each.children)
