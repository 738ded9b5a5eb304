"""Reduce a value that several statements log only once: bind it before the first of them, and use it in all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from trl_lint.analysis.program.syntax import below, used_names
from trl_lint.fixes.support.blocks import own_line
from trl_lint.fixes.support.edits import Edit, FixPlan, Insert, Reduced, Replace, with_distinct_names
from trl_lint.fixes.support.scope import binders, free_name, is_pure, may_change_objects
from trl_lint.fixes.support.tree import call_of, text_of


def edits_of(rewrites: Iterable[FixPlan]) -> list[Edit]:
    """All edits of these rewrites of one file, with equal reductions done only once."""
    rewrites = with_distinct_names(rewrites)
    edits = [edit for rewrite in rewrites for edit in rewrite.edits]
    for group in _same_reductions([each for rewrite in rewrites for each in rewrite.reduced]):
        new_names = {name for edit in edits if isinstance(edit, Insert) for name in edit.new_names}
        bound = _bound_once(group, new_names)
        if bound:
            replaced = {id(each.replace) for each in group}
            edits = [edit for edit in edits if id(edit) not in replaced] + bound
    return edits


def _same_reductions(reduced: Sequence[Reduced]) -> list[list[Reduced]]:
    """Groups of reductions that put the same code into different places of one function."""
    groups: dict[tuple[int, str], dict[int, Reduced]] = {}
    for each in reduced:
        key = (id(each.root), text_of(each.replace.by))
        groups.setdefault(key, {}).setdefault(id(each.replace.node), each)
    return [list(group.values()) for group in groups.values() if len(group) > 1]


def _bound_once(group: list[Reduced], names_in_use: set[str]) -> list[Edit]:
    """The edits that bind the value once; none if it may change from statement to statement.

    Only adjacent statements share it, and only if computing it again makes no difference.
    """
    root = group[0].root
    found = [own_line(root, each.replace.node) for each in group]
    lines = {id(line.statement): line for line in found if line is not None}
    if None in found or len({id(line.block) for line in lines.values()}) > 1:
        return []
    ordered = sorted(lines.values(), key=lambda line: line.index)
    first, last = ordered[0], ordered[-1]
    between = first.siblings[first.index : last.index + 1]
    if len(between) > len(lines) or not is_pure(group[0].replace.node):
        return []
    names = used_names(group[0].replace.node)
    if any(binders(line, names) or _changes_in_place(line) for line in between):
        return []
    name = free_name(root, group[0].name, names_in_use)
    line = f"{name} = {text_of(group[0].tensor)}"
    edits: list[Edit] = [Insert(first.statement, line, root=root, below_comments=True)]
    for each in group:
        is_number = each.tensor is not each.replace.by
        edits.append(Replace(each.replace.node, call_of(cst.Name(name), "item") if is_number else cst.Name(name)))
    return edits


def _changes_in_place(line: cst.CSTNode) -> bool:
    """Whether a statement calls a method that changes its object (writing to a store changes no value)."""
    return any(isinstance(node, cst.Call) and may_change_objects(node) for node in below(line))
