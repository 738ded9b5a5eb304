"""Which expression is the module inside a wrapper, where a part or a method of it is called.

inner = model.module
inner.encoder(x); encode = getattr(inner, "encode"); encode(x)     both belong to `inner`
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import assignments, resolved


def owner_of(root: cst.CSTNode, callee: cst.BaseExpression, taken_off: cst.CSTNode) -> cst.BaseExpression | None:
    """The module that what is called belongs to; None if it is that module itself, or is not known to be in it.

    root: the function (or module) of the call. taken_off: what takes the module off its wrapper, `model.module`.
    """
    if _is_module(root, callee, taken_off):
        return None
    owner = _receiver(resolved(root, callee))
    while owner is not None and not _is_module(root, owner, taken_off):
        owner = _receiver(owner)
    return owner


def _receiver(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The `inner` of `inner.encoder`, `inner["encoder"]`, `inner.get_encoder()` and `getattr(inner, "encoder")`."""
    match node:
        case cst.Call(func=cst.Name("getattr"), args=[cst.Arg(value=owner), *_]):
            return owner
        case cst.Call(func=cst.Attribute(value=owner)):
            return owner
        case cst.Attribute(value=owner) | cst.Subscript(value=owner):
            return owner
    return None


def _is_module(root: cst.CSTNode, node: cst.BaseExpression, taken_off: cst.CSTNode) -> bool:
    if node.deep_equals(taken_off):
        return True
    return isinstance(node, cst.Name) and any(
        value is taken_off and isinstance(target, cst.Name) and target.value == node.value
        for target, value in assignments(root)
    )
