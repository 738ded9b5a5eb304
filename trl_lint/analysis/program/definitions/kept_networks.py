"""What the objects of a plain class make and keep in an attribute, where they make all that is ever kept in it.

For example:

    self.net = None                          nothing yet
    self.net = Net(4).to(device)             made: `Net(4)`
    net = Net(4); self.net = net.cuda()      the same
    self.net = net                           not if it is passed to the method
    self.net = DistributedDataParallel(net)  a call, of which the caller has to see the class
    class Model(nn.Module)                   not of a class that a library runs, or that is a part of a model
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import assigned_parts, below, resolved, self_attribute
from trl_lint.knowledge.models import RETURN_THE_MODEL

_OBJECT = frozenset({"object", "builtins.object"})


@noted_in_file
def made_for(cls: ClassInfo, name: str) -> tuple[cst.Call, ...]:
    """The calls whose results the objects keep in `self.name`; empty if they may keep anything else there."""
    if not all(isinstance(each, ClassInfo) or each in _OBJECT for each in cls.lineage()):
        return ()
    made = [each for each in _assigned(cls, name) if not (isinstance(each, cst.Name) and each.value == "None")]
    calls = tuple(each for each in made if isinstance(each, cst.Call))
    return calls if len(calls) == len(made) else ()


def _assigned(cls: ClassInfo, name: str) -> Iterator[cst.BaseExpression]:
    """What methods assign to `self.name`, without the methods that return the model itself."""
    for method in cls.project_methods():
        for target, value in assigned_parts(method.node):
            if any(self_attribute(each) == name for each in below(target)):
                yield _without_moves(method.node, value) if self_attribute(target) else target


def _without_moves(root: cst.CSTNode, value: cst.BaseExpression) -> cst.BaseExpression:
    value = resolved(root, value)
    match value:
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(method))) if method in RETURN_THE_MODEL:
            return _without_moves(root, receiver)
    return value
