"""Overridden hooks: what the hook of a base passes to methods of `self` never reaches objects of the class.

For example:

    class Base(Trainer):
        def compute_loss(self, model, inputs):      the trainer passes the wrapped model
            return self.run(model, inputs)
        def evaluate_all(self):
            return self.run(self.model, self.inputs)
    class Other(Base):
        def compute_loss(self, model, inputs): ...  an override that does not call that of the base
        def run(self, model, inputs): ...           gets the bare model only, from `evaluate_all`
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.transfer.models.wrapped_models import is_wrapped
from trl_lint.domain.provenance import source_step
from trl_lint.domain.values import Value


def is_from_overridden_hook(cls: ClassInfo, base: ClassInfo, value: Value) -> bool:
    """Whether a wrapped model was passed to a method of a base that the class overrides."""
    step = source_step(value.provenance) if is_wrapped(value) else None
    if step is None:
        return False
    for method in base.methods.values():
        if any(step.node is each for each in (method.node, *method.node.params.params)):
            override = cls.find(method.name)
            return override is not None and override is not method and not _calls_base(override)
    return False


def _calls_base(method: FunctionInfo) -> bool:
    """Whether a method calls the method of the same name of another object: `super().compute_loss(…)`."""
    callees = (each.func for each in of_class(method.node, cst.Call))
    return any(isinstance(each, cst.Attribute) and each.attr.value == method.name for each in callees)
