"""The function that makes the object of which a method is called, as far as the code beside the call shows.

net = torch.jit.script(model)
net.save(path)                      `torch.jit.script`, if nothing else is assigned to `net`
torch.jit.script(model).save(path)  the same
Config.fromfile(path).dump(copy)    `mmengine.Config.fromfile`, if the file imports `Config` from there
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once
from trl_lint.domain.kinds import library_name_of

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module


def maker_of(root: cst.CSTNode, call: cst.CSTNode) -> cst.BaseExpression | None:
    """The function that makes what a method is called on, within some code; None if that does not show."""
    match call:
        case cst.Call(func=cst.Attribute(value=cst.Call(func=made))):
            return made
        case cst.Call(func=cst.Attribute(value=cst.Name(name))):
            value = assigned_once(root, name)
            return value.func if isinstance(value, cst.Call) else None
    return None


def library_function(module: Module, function: cst.BaseExpression | None) -> str:
    """The dotted name of a library's function or class, by what a file has imported; "" if it is something else."""
    match function:
        case cst.Name(name):
            return library_name_of(module.names.get(name))
        case cst.Attribute(value=value, attr=cst.Name(name)):
            owner = library_function(module, value)
            return f"{owner}.{name}" if owner else ""
    return ""
