"""The function that makes the object of which a method is called, as far as the code beside the call shows.

net = torch.jit.script(model)
net.save(path)                      `torch.jit.script`, if nothing else is assigned to `net`
torch.jit.script(model).save(path)  the same
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once


def maker_of(root: cst.CSTNode, call: cst.CSTNode) -> cst.BaseExpression | None:
    """The function that makes what a method is called on, within some code; None if that does not show."""
    match call:
        case cst.Call(func=cst.Attribute(value=cst.Call(func=made))):
            return made
        case cst.Call(func=cst.Attribute(value=cst.Name(name))):
            value = assigned_once(root, name)
            return value.func if isinstance(value, cst.Call) else None
    return None
