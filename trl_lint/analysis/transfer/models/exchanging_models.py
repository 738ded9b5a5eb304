"""Models that reduce or gather over the ranks while they compute: statistics of a codebook, loads of experts, features.

Which of their outputs are each rank's own is not known then:

    class Codebook(nn.Module):
        def forward(self, x): dist.all_reduce(counts); return {"used": (counts > 1).sum()}     it does
    class Quantizer(nn.Module):
        def __init__(self): self.parts.append(Codebook(512))                                   it does, in a part
    class Pairs(nn.Module):
        def forward(self, x): return Gather.apply(x)                                           it does, by a function
    class Batch(nn.Module):
        def forward(self, x): return score(everyone(x))                  it does, if the function `everyone` gathers
    class Encoder(nn.Module):
        def forward(self, x): return self.layers(x)                                            it does not
"""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from trl_lint.analysis.program.definitions.call_order import methods_run_by
from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue
from trl_lint.analysis.program.definitions.reduced_forwards import APPLY
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import last_name, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.interpreter import Interpreter
from trl_lint.domain.kinds import LibraryName, ProjectName
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.schema import Collective
from trl_lint.knowledge.torch_distributed import ROWS

_FORWARD = "forward"
_GATHERED = ("gathered",)


def _names(results: Collection[str]) -> frozenset[str]:
    """The collectives of which all ranks get such a result."""
    rows = (each for each in ROWS if isinstance(each, Collective) and each.result in results and each.root is None)
    return frozenset(each.name.rpartition(".")[2] for each in rows)


_GATHER = _names(_GATHERED)
_EXCHANGE = _names(("reduced", *_GATHERED))
# How deep parts are in each other.
_DEEPEST = 4


def exchanges(frame: Frame, cls: ClassInfo) -> bool:
    """Whether the forward of a model, or of a part that it makes, has a collective whose result all ranks get."""
    return _ExchangeSearch(frame.engine, _EXCHANGE).is_in_model(cls, _DEEPEST)


def gathers(frame: Frame, cls: ClassInfo) -> bool:
    """Whether the forward of a model, or of a part that it makes, gathers what all ranks have."""
    return _ExchangeSearch(frame.engine, _GATHER).is_in_model(cls, _DEEPEST)


class _ExchangeSearch:
    """A search for collectives in the code that a model runs; each class and function is read once."""

    def __init__(self, engine: Interpreter, collectives: frozenset[str]) -> None:
        self.engine = engine
        self.collectives = collectives
        self.seen: set[int] = set()

    def is_in_model(self, cls: ClassInfo, depth: int) -> bool:
        if depth == 0 or id(cls) in self.seen:
            return False
        self.seen.add(id(cls))
        return any(self._is_in(each, depth) for each in methods_run_by(cls, _FORWARD)) or any(
            self.is_in_model(each, depth - 1) for each in made_by(self.engine, cls)
        )

    def _is_in(self, function: FunctionInfo, depth: int) -> bool:
        """Whether a function has such a collective, or one that it calls, or that it applies: one of autograd."""
        if depth == 0 or id(function) in self.seen:
            return False
        self.seen.add(id(function))
        if any(last_name(call.func) in self.collectives for call in of_class(function.node, cst.Call)):
            return True
        return any(
            self._is_in(each.function, depth - 1)
            if isinstance(each, FunctionValue)
            else isinstance(each, ClassValue) and self.is_in_model(each.cls, depth - 1)
            for each in _called_by(function, self.engine)
        )


@noted_in_file
def _called_by(function: FunctionInfo, engine: Interpreter) -> tuple[Value, ...]:
    """The functions of the project that a function calls, by name or as those of a module, and what it applies."""
    callees = (_without_apply(call.func) for call in of_class(function.node, cst.Call))
    named = (named_callee(engine, function.module, each) for each in callees)
    return tuple({id(each): each for each in named if each is not None}.values())


def _without_apply(callee: cst.BaseExpression) -> cst.BaseExpression:
    return callee.value if isinstance(callee, cst.Attribute) and last_name(callee) == APPLY else callee


def named_callee(engine: Interpreter, module: Module, callee: cst.BaseExpression) -> Value | None:
    """What a module calls by a name of its own, or of a module that it imports: `distrib.all_reduce`."""
    match callee:
        case cst.Name(name):
            known = engine.global_name(module, name)
        case cst.Attribute(value=cst.Name(owner), attr=cst.Name(name)):
            outer = engine.settle(engine.global_name(module, owner) or UNKNOWN)
            known = engine.member(outer, name) if isinstance(outer, (LibraryName, ProjectName)) else None
        case _:
            known = None
    return None if known is None else engine.settle(known)


def made_by(engine: Interpreter, cls: ClassInfo) -> tuple[ClassInfo, ...]:
    """The project's classes of what code of a class makes, and of the functions of autograd that it uses."""
    return tuple(dict.fromkeys(made for base in cls.project_lineage() for made in _made_in(base, engine)))


@noted_in_file
def _made_in(cls: ClassInfo, engine: Interpreter) -> tuple[ClassInfo, ...]:
    callees = (_without_apply(call.func) for call in of_class(cls.node, cst.Call))
    names = {each.value for each in callees if isinstance(each, cst.Name)}
    known = (engine.global_name(cls.module, name) for name in sorted(names))
    settled = (engine.settle(each) for each in known if each is not None)
    return tuple(each.cls for each in settled if isinstance(each, ClassValue))
