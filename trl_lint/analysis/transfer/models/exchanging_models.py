"""Models that reduce or gather over the ranks while they compute: statistics of a codebook, loads of experts, features.

Which of their outputs are each rank's own is not known then:

    class Codebook(nn.Module):
        def forward(self, x): dist.all_reduce(counts); return {"used": (counts > 1).sum()}     it does
    class Quantizer(nn.Module):
        def __init__(self): self.parts.append(Codebook(512))                                   it does, in a part
    class Pairs(nn.Module):
        def forward(self, x): return Gather.apply(x)                                           it does, by a function
    class Encoder(nn.Module):
        def forward(self, x): return self.layers(x)                                            it does not
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.call_order import methods_run_by
from trl_lint.analysis.program.definitions.objects import ClassValue
from trl_lint.analysis.program.definitions.reduced_forwards import APPLY
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import last_name, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.interpreter import Interpreter
from trl_lint.knowledge.schema import Collective
from trl_lint.knowledge.torch_distributed import ROWS

_FORWARD = "forward"
# The collectives of which all ranks get the result.
_OF_ALL = frozenset(
    row.name.rpartition(".")[2]
    for row in ROWS
    if isinstance(row, Collective) and row.result in ("reduced", "gathered") and row.root is None
)
# How deep parts are in each other.
_DEEPEST = 4


def exchanges(frame: Frame, cls: ClassInfo) -> bool:
    """Whether the forward of a model, or of a part that it makes, has a collective whose result all ranks get."""
    return _exchanges(frame, cls, _DEEPEST, set())


def _exchanges(frame: Frame, cls: ClassInfo, depth: int, seen: set[int]) -> bool:
    if depth == 0 or id(cls) in seen:
        return False
    seen.add(id(cls))
    if any(
        last_name(call.func) in _OF_ALL
        for each in methods_run_by(cls, _FORWARD)
        for call in of_class(each.node, cst.Call)
    ):
        return True
    return any(_exchanges(frame, each, depth - 1, seen) for each in made_by(frame.engine, cls))


def made_by(engine: Interpreter, cls: ClassInfo) -> tuple[ClassInfo, ...]:
    """The project's classes of what code of a class makes, and of the functions of autograd that it uses."""
    return tuple(dict.fromkeys(made for base in cls.project_lineage() for made in _made_in(base, engine)))


@noted_in_file
def _made_in(cls: ClassInfo, engine: Interpreter) -> tuple[ClassInfo, ...]:
    callees = (call.func for call in of_class(cls.node, cst.Call))
    named = (each.value if last_name(each) == APPLY and isinstance(each, cst.Attribute) else each for each in callees)
    names = {each.value for each in named if isinstance(each, cst.Name)}
    known = (engine.global_name(cls.module, name) for name in sorted(names))
    settled = (engine.settle(each) for each in known if each is not None)
    return tuple(each.cls for each in settled if isinstance(each, ClassValue))
