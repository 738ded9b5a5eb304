"""The number that a method of an object counts: by one statement, each time that it is called, and nowhere else.

class Progress:
    def __init__(self): self.step = 0
    def finish_step(self): self.step += 1
    def finish_epoch(self): self.epoch += 1
    def start_over(self): self.epoch = 0

progress.finish_step()        `progress.step`
progress.finish_epoch()       none: another method changes it, too
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import below, of_class, self_attribute, used_names
from trl_lint.analysis.state.frame import Frame

_CONSTRUCTOR = "__init__"


def raised_by(frame: Frame, call: cst.Call) -> str:
    """`progress.step` for `progress.finish_step()`; "" if it counts nothing, or the number may change elsewhere."""
    if not isinstance(call.func, cst.Attribute) or not isinstance(call.func.value, cst.Name):
        return ""
    owner, name = call.func.value, call.func.attr.value
    value = frame.known_value(owner)
    method = value.cls.find(name) if isinstance(value, ProjectInstance) else None
    if method is None or not isinstance(value, ProjectInstance):
        return ""
    others = [each for each in value.cls.project_methods() if each.name not in (_CONSTRUCTOR, name)]
    if any(self_attribute(each) == name for other in others for each in of_class(other.node, cst.Attribute)):
        return ""  # another one may call it
    set_elsewhere = {attribute for each in others for attribute in _set(each)}
    counted = [each for each in _counted(method) if each not in set_elsewhere and _set(method).count(each) == 1]
    return f"{owner.value}.{counted[0]}" if counted else ""


def _counted(method: FunctionInfo) -> Iterator[str]:
    """What a method adds to whenever it is called: before it may return, and nothing that depends on what it gets."""
    body, passed = method.node.body, {each.name for each in method.parameters}
    for line in body.body if isinstance(body, cst.IndentedBlock) else (body,):
        for each in line.body if isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite)) else ():
            match each:
                case cst.AugAssign(operator=cst.AddAssign()) if passed.isdisjoint(used_names(each.value)):
                    yield self_attribute(each.target)
        if any(of_class(line, cst.Return)):
            return


def _set(method: FunctionInfo) -> list[str]:
    """The attributes of its object that a method sets, one for each time."""
    kinds = (cst.AnnAssign, cst.AssignTarget, cst.AugAssign, cst.For, cst.NamedExpr)
    targets = (node.target for node in below(method.node) if isinstance(node, kinds))
    return [self_attribute(each) for target in targets for each in of_class(target, cst.Attribute)]
