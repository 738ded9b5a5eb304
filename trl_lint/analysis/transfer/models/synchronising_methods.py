"""Methods of models in which ranks wait for each other: their code is run where they are called.

    class Codebook(nn.Module):
        def restart(self): dist.all_reduce(self.used)            it does
        def reset(self): self.restart()                          it does, in another method
        def spread(self): return everyone(self.used)             it does, if the function `everyone` has a collective
    class Encoder(nn.Module):
        def __init__(self): self.book = Codebook()
        def restart_all(self): self.book.restart()               it does, in a part
        def forward(self, x): return self.layers(x)              it does not

Of other methods the text tells nothing that a caller needs: what a model computes is known from its inputs.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue, ProjectInstance, class_of
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import last_name, of_class, self_attribute
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models.exchanging_models import made_by
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.schema import Collective
from trl_lint.knowledge.torch_distributed import MODULE, ROWS

_FORWARD = "forward"
_COLLECTIVES = frozenset(row.name.rpartition(".")[2] for row in ROWS if isinstance(row, Collective))
# How many calls are followed: of functions, of other methods, and of those of parts.
_MOST_CALLS = 4


def run(frame: Frame, model: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
    """Run a method of a project's model for what the ranks do together in it."""
    cls = class_of(model)
    method = None if cls is None else cls.find(name)
    if cls is not None and method is not None and _waits(frame, method, cls, _MOST_CALLS):
        frame.engine.call(frame, method, args, node, ProjectInstance(cls))


def has_waiting_part(frame: Frame, cls: ClassInfo) -> bool:
    """Whether code of a class makes an object in a method of which ranks wait for each other."""
    parts = (part for part in made_by(frame, cls) if part is not cls)
    return any(_waits(frame, method, part, _MOST_CALLS) for part in parts for method in part.methods.values())


def _waits(frame: Frame, function: FunctionInfo, cls: ClassInfo | None, calls: int) -> bool:
    return any(_waits_in(frame, function, cls, each, calls) for each in of_class(function.node.body, cst.Call))


def _waits_in(frame: Frame, function: FunctionInfo, cls: ClassInfo | None, call: cst.Call, calls: int) -> bool:
    """Whether a call in a function, or in a method of a class, is a collective, or of something that has one."""
    if _is_collective(frame, function, call.func):
        return True
    if not calls:
        return False
    if isinstance(call.func, cst.Name):
        called = frame.engine.settle(frame.engine.global_name(function.module, call.func.value) or UNKNOWN)
        return isinstance(called, FunctionValue) and _waits(frame, called.function, None, calls - 1)
    if cls is None or not isinstance(call.func, cst.Attribute):
        return False
    method = cls.find(own) if (own := self_attribute(call.func)) else None
    if method is not None:
        return method is not function and _waits(frame, method, cls, calls - 1)
    name = _FORWARD if own else call.func.attr.value
    parts = made_by(frame, cls) if own or self_attribute(call.func.value) else ()
    found = ((part, part.find(name)) for part in parts if part is not cls)
    return any(method is not None and _waits(frame, method, part, calls - 1) for part, method in found)


def _is_collective(frame: Frame, function: FunctionInfo, callee: cst.BaseExpression) -> bool:
    if last_name(callee) not in _COLLECTIVES:
        return False
    owner = callee.value if isinstance(callee, cst.Attribute) else callee
    name = owner.value if isinstance(owner, cst.Name) else ""
    known = library_name_of(frame.engine.global_name(function.module, name))
    return known.startswith(MODULE) or (isinstance(owner, cst.Attribute) and last_name(owner) == "distributed")
