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
class Reduced:
    """A value that a rewrite reduces in place, so that another one of the same value can use the result.

    root: the function (or module) it is in. replace: the edit. tensor: what `replace` puts there, as a tensor.
    name: what the result may be called.
    """

    root: cst.CSTNode
    replace: Replace
    tensor: cst.BaseExpression
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Rewrite:
    """How to mend one finding. reduced: what of it may be shared with other findings' rewrites."""

    edits: tuple[Edit, ...]
    reduced: tuple[Reduced, ...] = ()


@dataclass(frozen=True, slots=True)
class NoRewrite:
    """Why there is only a hint. `text` is code the author may write instead, where it is known."""

    reason: str
    text: str = ""


def merged(rewrites: Iterable[Rewrite]) -> Rewrite | None:
    """One rewrite that does all of these; None when two of them put different things in one place."""
    edits: list[Edit] = []
    reduced: list[Reduced] = []
    replaced: dict[int, cst.BaseExpression] = {}
    for rewrite in rewrites:
        for edit in rewrite.edits:
            if isinstance(edit, Replace):
                other = replaced.setdefault(id(edit.node), edit.by)
                if not _is_same(other, edit.by):
                    return None
                if other is not edit.by:
                    continue
            edits.append(edit)
        reduced += [each for each in rewrite.reduced if each.replace in edits]
    return Rewrite(tuple(edits), tuple(reduced))


def independent(rewrites: Iterable[Rewrite]) -> list[bool]:
    """For each rewrite, in order, whether it can be made together with those before it that can."""
    taken: dict[int, cst.BaseExpression] = {}
    around: set[int] = set()
    verdicts = []
    for rewrite in rewrites:
        edits = [edit for edit in rewrite.edits if isinstance(edit, Replace)]
        new = [edit for edit in edits if not _is_same(taken.get(id(edit.node)), edit.by)]
        inside = {id(each) for edit in new for each in _below(edit.node)}
        clear = inside.isdisjoint(taken) and not any(id(edit.node) in around for edit in new)
        if clear:
            taken.update({id(edit.node): edit.by for edit in new})
            around |= inside
        verdicts.append(clear)
    return verdicts


def _is_same(known: cst.BaseExpression | None, by: cst.BaseExpression) -> bool:
    return known is not None and (known is by or known.deep_equals(by))


def _below(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        todo.extend(each.children)
