"""Gradients: a gathered tensor has none, so it must not replace a tensor that a loss is computed from."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import below, contexts_around, last_name
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.domain.values import Kind
from trl_lint.fixes.support.logged import LogSite
from trl_lint.fixes.support.scope import dotted
from trl_lint.fixes.support.uses import container_of, stays_shown
from trl_lint.knowledge import library
from trl_lint.knowledge.heuristics import SHOWS
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS


def may_have_gradient(place: LogSite) -> bool:
    """Whether a loss may be computed from the logged value."""
    value = place.payload.value
    if value.kind is Kind.NUMBER or not value.grad or value.dtype in ("bool", "int"):
        return False
    owner = place.payload.function
    if owner is not None and owner.decorators & WITHOUT_GRADIENTS:
        return False
    return isinstance(place.payload.expression, cst.Name) or not _is_inside_no_grad(place)


def _is_inside_no_grad(place: LogSite) -> bool:
    """Whether it is computed in a `with torch.no_grad():` or a similar block."""
    return bool(WITHOUT_GRADIENTS & contexts_around(place.root, place.payload.expression))


def may_reach_a_loss(place: LogSite) -> bool:
    """Whether the logged value has a gradient, and is stored where a loss may be computed from it."""
    if not may_have_gradient(place) or place.payload.passed_to is not None or _is_log(place.statement):
        return False
    base = container_of(place.statement)
    if base is None:
        return True
    if isinstance(base, cst.Attribute):
        return not _is_store(place, base)
    return not (base.value in _dicts_of_numbers(place.root) or stays_shown(place.root, base.value))


def _is_log(statement: cst.CSTNode) -> bool:
    """Whether a statement is a call that only shows its arguments."""
    call = statement.value if isinstance(statement, cst.Expr) else None
    return isinstance(call, cst.Call) and SHOWS.fits(last_name(call.func))


def _is_store(place: LogSite, base: cst.Attribute) -> bool:
    """Whether it is a store of metrics that a library's trainer keeps and shows."""
    cls = place.payload.function.cls if place.payload.function is not None else None
    if cls is None or not isinstance(base.value, cst.Name):
        return False
    bases = (name for each in cls.project_lineage() for name in each.library_bases())
    return any(base.attr.value in library.stores(name, library.NO_VERSIONS) for name in bases)


@tree_cache(16)
def _dicts_of_numbers(root: cst.CSTNode) -> frozenset[str]:
    """The dicts all of whose entries a function converts to numbers: `for k, v in d.items(): d[k] = v.item()`."""
    found = set()
    for node in below(root):
        match node:
            case cst.For(
                iter=cst.Call(func=cst.Attribute(value=cst.Name(value=source), attr=cst.Name("items"))),
                target=cst.Tuple(elements=[_, cst.Element(value=cst.Name(value=value))]),
                body=cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Assign() as assign])]),
            ) if dotted(getattr(assign.targets[0].target, "value", None)) == source:
                new_value = assign.value
                if isinstance(new_value, cst.Call) and dotted(new_value.func) in (f"{value}.item", "float"):
                    found.add(source)
    return frozenset(found)
