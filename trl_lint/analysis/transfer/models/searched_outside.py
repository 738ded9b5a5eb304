"""Lightning modules that freeze what they hold before each search, so that what is trained lies outside of them.

For example:

    def on_train_batch_start(self, batch, index):
        for p in self.policy.parameters():
            p.requires_grad = False              all parameters that DDP holds: it has nothing to reduce
    def training_step(self, batch, index):
        table = nn.Parameter(self.policy.table(batch))
        ...
        self.manual_backward(loss)               computes the gradient of `table` on this rank
    def configure_optimizers(self):
        return Adam(self.head.parameters())      instead: `self.head` is trained, DDP reduces its gradients

All parameters of the module may be those by default, `parameters or self.parameters()`, if a step passes its own:
`self.configure_optimizers([table])`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.model_attributes import is_trained_part
from trl_lint.analysis.program.idioms.gradient_switches import MENTIONED, Code, Switch, of_call
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import of_class, self_attribute
from trl_lint.knowledge.lightning import BEFORE_STEPS
from trl_lint.knowledge.torch import GIVES_PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo


@noted_in_file
def trains_outside(cls: ClassInfo) -> bool:
    """Whether a class freezes, before each of its steps, every part of itself that it is known to train otherwise."""
    if not cls.module.mentions(rb"\b%b" % MENTIONED):
        return False
    lineage = tuple(cls.project_lineage())
    frozen: set[str] = set()
    for method in (found for name in sorted(BEFORE_STEPS) if (found := cls.find(name)) is not None):
        for path, on, but in _switched(method):
            if on or but is not None or len(path) != 2:
                return False
            frozen.add(path[1])
    asked = {name for each in lineage for name in _asked_for_parameters(each)}
    asked -= {""} if any(map(_passes_parameters, lineage)) else set()
    others = {name for each in lineage for name in each.assigned()} - frozen
    return bool(frozen) and asked <= frozen and not any(is_trained_part(cls, name) for name in others)


def _switched(method: FunctionInfo) -> Iterator[Switch]:
    """What a method freezes or trains again of its own object."""
    this = method.parameters[0].name if method.parameters else ""
    unknown = Code({}, lambda test: None, lambda function, callee: None)
    for each in of_call(method, {this: [cst.Name(this)]}, unknown) if this else ():
        if each is not None and each.path[0] == this:
            yield each


def _asked_for_parameters(cls: ClassInfo) -> Iterator[str]:
    """The attributes whose parameters a class asks for; "" for those of the whole object."""
    for call in of_class(cls.node, cst.Call):
        match call.func:
            case cst.Attribute(value=owner, attr=cst.Name(value=name)) if name in GIVES_PARAMETERS:
                if self_attribute(owner) or (isinstance(owner, cst.Name) and owner.value == "self"):
                    yield self_attribute(owner)


def _passes_parameters(cls: ClassInfo) -> bool:
    """Whether a class tells its own optimizers what is trained, and that is not the whole object."""
    given = (
        call.args[0].value
        for call in of_class(cls.node, cst.Call)
        if self_attribute(call.func) == "configure_optimizers" and call.args
    )
    return any(isinstance(each, cst.Name) for each in given)
