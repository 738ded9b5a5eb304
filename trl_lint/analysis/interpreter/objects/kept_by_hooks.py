"""Attributes of a callback of Lightning in which its hooks keep what they get, for methods that other code calls.

class Saver(Callback):
    def on_train_start(self, trainer, pl_module):
        self.trainer = trainer
    def save(self):
        self.trainer.save_checkpoint(path)      the trainer, also if a program that is read before the hooks calls it
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import attribute_values
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge import lightning


def value_of(receiver: ProjectInstance, name: str) -> Value:
    """What hooks put into an attribute of a callback, if it is the same each time and comes from Lightning."""
    bases = receiver.cls.library_bases()
    if not lightning.is_callback(bases):
        return UNKNOWN
    given = [value for cls in receiver.cls.project_lineage() for value in _given(cls, bases, name)]
    return given[0] if given and all(each == given[0] for each in given) else UNKNOWN


def _given(cls: ClassInfo, bases: tuple[str, ...], name: str) -> list[Value]:
    """The values of all assignments to an attribute in a class; UNKNOWN for one that is no parameter of a hook."""
    found = []
    for method in cls.methods.values():
        values = [value for target, value in attribute_values(method.node) if target == name]
        if values:
            passed = _passed(method, bases)
            found += [passed.get(each.value, UNKNOWN) if isinstance(each, cst.Name) else UNKNOWN for each in values]
    return found


def _passed(method: FunctionInfo, bases: tuple[str, ...]) -> dict[str, Value]:
    """The trainer and the module, as they are outside of a training, by the parameters of a hook that get them."""
    if not lightning.parameters_of(method.name, bases):
        return {}
    values = lightning.parameters_of("setup", bases).values()
    return dict(zip([each.name for each in method.parameters[1:] if not each.star], values, strict=False))
