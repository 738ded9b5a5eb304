"""A value that several statements log is reduced once: bound before the first of them, and used in all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import libcst as cst

from trl_lint.rewriting.blocks import enclosing_statement
from trl_lint.rewriting.edits import Edit, Insert, Reduced, Replace, Rewrite, apart
from trl_lint.rewriting.scope import binders, free_name, used_names
from trl_lint.rewriting.tree import call_of


def edits_of(rewrites: Iterable[Rewrite]) -> list[Edit]:
    """All edits of these rewrites of one file, with what they reduce alike reduced once."""
    rewrites = apart(rewrites)
    edits = [edit for rewrite in rewrites for edit in rewrite.edits]
    for group in _alike([each for rewrite in rewrites for each in rewrite.reduced]):
        bound = _bound_once(group)
        if bound:
            mine = {id(each.replace) for each in group}
            edits = [edit for edit in edits if id(edit) not in mine] + bound
    return edits


def _alike(reduced: Sequence[Reduced]) -> list[list[Reduced]]:
    """Those that put the same code into different places of one function."""
    code = cst.Module([]).code_for_node
    groups: dict[tuple[int, str], dict[int, Reduced]] = {}
    for each in reduced:
        key = (id(each.root), code(each.replace.by))
        groups.setdefault(key, {}).setdefault(id(each.replace.node), each)
    return [list(group.values()) for group in groups.values() if len(group) > 1]


def _bound_once(group: list[Reduced]) -> list[Edit]:
    """The edits that bind the value once; none where the statements are not in one block, or it changes between."""
    root = group[0].root
    places = [enclosing_statement(root, each.replace.node) for each in group]
    known = [place for place in places if place is not None]
    if len(known) < len(places) or len({id(around[-1]) for _, around in known}) > 1:
        return []
    block: Any = known[0][1][-1].body
    lines = sorted(next(i for i, line in enumerate(block) if line is statement) for statement, _ in known)
    names = used_names(group[0].replace.node)
    if any(binders(line, names) for line in block[lines[0] : lines[-1] + 1]):
        return []
    name = free_name(root, group[0].name)
    code = cst.Module([]).code_for_node
    edits: list[Edit] = [Insert(block[lines[0]], f"{name} = {code(group[0].tensor)}", root=root)]
    for each in group:
        is_number = each.tensor is not each.replace.by
        edits.append(Replace(each.replace.node, call_of(cst.Name(name), "item") if is_number else cst.Name(name)))
    return edits
