"""Whether the forward of a module runs another model that it is passed, by the text of its class.

def forward(self, model, sample):
    return model(sample).mean()            it does

def forward(self, model, sample):
    return self.loss_of(model, sample)     it does if `loss_of` of the same class calls its first argument

def forward(self, model):
    return sum(map(norm, model.parameters()))     it only reads the model
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import of_class, self_attribute

# How deep methods of the same object that hand the model on are followed.
_DEEPEST = 3


@noted_in_file
def runs_an_argument(cls: ClassInfo) -> bool:
    """Whether a forward calls one of its own arguments, or one of its methods does that it hands the argument to."""
    forward = cls.find("forward")
    if forward is None or forward.is_open:
        return False
    return _calls_one_of(cls, forward, frozenset(each.name for each in forward.parameters[1:]), _DEEPEST)


def _calls_one_of(cls: ClassInfo, function: FunctionInfo, names: frozenset[str], depth: int) -> bool:
    calls = list(of_class(function.node.body, cst.Call))
    if any(isinstance(call.func, cst.Name) and call.func.value in names for call in calls):
        return True
    handed_on = (each for call in calls for each in _handed_on(cls, call, names)) if depth > 0 else ()
    return any(_calls_one_of(cls, method, frozenset((name,)), depth - 1) for method, name in handed_on)


def _handed_on(cls: ClassInfo, call: cst.Call, names: frozenset[str]) -> Iterator[tuple[FunctionInfo, str]]:
    """The methods of the same object that a call passes one of some names, each with its parameter."""
    method = cls.find(self_attribute(call.func))
    if method is None or method.is_static:
        return
    parameters = [each.name for each in method.parameters[1:]]
    for place, arg in enumerate(call.args):
        if not isinstance(arg.value, cst.Name) or arg.value.value not in names:
            continue
        if arg.keyword is not None:
            yield method, arg.keyword.value
        elif place < len(parameters):
            yield method, parameters[place]
