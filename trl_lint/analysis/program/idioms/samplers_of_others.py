"""Samplers beside a loader that has none: they deal the rows of other loaders, or nothing is loaded with them.

    train_sampler = DistributedSampler(train)                  deals nothing: no loader is given it
    loader = DataLoader(train, shuffle=True)
    valid_loader = DataLoader(valid, sampler=DistributedSampler(valid))       deals other rows
    train_sampler.set_epoch(epoch)

These may deal the rows of `loader`, or say that it is that of a single process:

    if distributed: loader = DataLoader(train, sampler=DistributedSampler(train))
    else: loader = DataLoader(train, shuffle=True)
    return loader, train_sampler
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, innermost, last_name, of_class, self_attribute
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER, ROWS_OF_LOADER, SAMPLER_OF_LOADER, TOLD_BY

_CLASS = DISTRIBUTED_SAMPLER.rpartition(".")[2]


def code_without(tree: cst.Module, code: bytes, loader: cst.Call) -> bytes:
    """The code of a file without what it has for samplers, if none of them deals the rows of this loader."""
    samplers = [each for each in of_class(tree, cst.Call) if last_name(each.func) == _CLASS]
    if not all(_is_of_others(tree, each, loader) for each in samplers):
        return code
    for sampler in samplers:
        code = code.replace(tree.code_for_node(sampler).encode(), b"")
        for target in _names_of(tree, sampler):
            code = code.replace(f"{tree.code_for_node(target)}.{TOLD_BY}(".encode(), b"")
    return code


def _is_of_others(tree: cst.Module, sampler: cst.Call, loader: cst.Call) -> bool:
    """Whether a sampler is made whenever the loader is, which other loaders are given, if any is."""
    if _block_of(tree, sampler) is not _block_of(tree, loader):
        return False
    if _is_given_to_another(tree, sampler, sampler, loader):
        return True
    names = list(_names_of(tree, sampler))
    return len(names) == 1 and all(
        _only_sets_epoch(tree, use) or _is_given_to_another(tree, use, sampler, loader) for use in _uses(tree, names[0])
    )


def _block_of(tree: cst.Module, node: cst.CSTNode) -> cst.CSTNode | None:
    line = innermost(tree, node, cst.SimpleStatementLine)
    return None if line is None else ancestors(tree, line)[-1]


def _names_of(tree: cst.Module, sampler: cst.Call) -> Iterator[cst.BaseExpression]:
    """What a sampler is assigned to as it is."""
    assigned = ancestors(tree, sampler)[-1]
    if isinstance(assigned, cst.Assign):
        yield from (each.target for each in assigned.targets)


def _uses(tree: cst.Module, target: cst.BaseExpression) -> Iterator[cst.CSTNode]:
    """Where a variable is used or set, or an attribute of any object, and whatever else is called so."""
    name = target.value if isinstance(target, cst.Name) else self_attribute(target)
    for each in of_class(tree, cst.Name):
        around = ancestors(tree, each)[-1] if each.value == name and each is not target else None
        if around is None or around is target or (isinstance(around, cst.Arg) and around.keyword is each):
            continue
        is_attribute = isinstance(target, cst.Attribute) and isinstance(around, cst.Attribute) and around.attr is each
        yield around if is_attribute else each


def _only_sets_epoch(tree: cst.Module, use: cst.CSTNode) -> bool:
    match ancestors(tree, use)[-2:]:
        case cst.Call(func=func), cst.Attribute(value=told, attr=cst.Name(value=name)) as method:
            return func is method and told is use and name == TOLD_BY
    return False


def _is_given_to_another(tree: cst.Module, use: cst.CSTNode, sampler: cst.Call, loader: cst.Call) -> bool:
    """Whether a use of a sampler is that by a loader of the rows that it deals, which are not those of this one."""
    match ancestors(tree, use)[-2:]:
        case cst.Call() as other, cst.Arg(keyword=cst.Name(value=name)) if name == SAMPLER_OF_LOADER:
            dealt = _rows_of(tree, sampler)
            return bool(dealt) and dealt == _rows_of(tree, other) != _rows_of(tree, loader)
    return False


def _rows_of(tree: cst.Module, call: cst.Call) -> str:
    """The code for the rows of a sampler or a loader; "" if it is not shown."""
    place, keyword = ROWS_OF_LOADER
    named = (each.value for each in call.args if each.keyword is not None and each.keyword.value == keyword)
    first = call.args[place] if call.args else None
    rows = first.value if first is not None and first.keyword is None and not first.star else next(named, None)
    return "" if rows is None else tree.code_for_node(rows)
