"""Methods of models in which ranks wait for each other: their code is run where they are called.

    class Codebook(nn.Module):
        def restart(self): dist.all_reduce(self.used)            it does
        def reset(self): self.restart()                          it does, in another method
        def spread(self): return everyone(self.used)             it does, if the function `everyone` has a collective
    class Encoder(nn.Module):
        def __init__(self): self.book = Codebook()
        def restart_all(self): self.book.restart()               it does, in a part
        def share(self): return distrib.everyone(self.book)      it does, if that function of a module has a collective
        def send(self, x): return (everyone if x else own)(x)    it does, if one of both has a collective
        def forward(self, x): return self.layers(x)              it does not

Of other methods the text tells nothing that a caller needs: what a model computes is known from its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue, ProjectInstance, class_of
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import last_name, of_class, resolved, self_attribute
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.interpreter import Interpreter
from trl_lint.analysis.transfer.models.exchanging_models import made_by, named_callee
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.values import Value
from trl_lint.knowledge.schema import Collective
from trl_lint.knowledge.torch_distributed import MODULE, ROWS

_FORWARD = "forward"
_COLLECTIVES = frozenset(row.name.rpartition(".")[2] for row in ROWS if isinstance(row, Collective))
# How deep calls are followed: of functions, of other methods, and of those of parts.
_MOST_CALLS = 4


def run(frame: Frame, model: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The result of a method of a project's model, which is run if ranks do something together in it; else None."""
    cls = class_of(model)
    method = None if cls is None else cls.find(name)
    if cls is None or method is None or not _waits(frame.engine, (_WaitingCode(method, cls),)):
        return None
    return frame.engine.call(frame, method, args, node, ProjectInstance(cls))


def has_waiting_method(frame: Frame, cls: ClassInfo) -> bool:
    """Whether ranks wait for each other in a method of a class, or of an object that its code makes."""
    parts = (cls, *(part for part in made_by(frame.engine, cls) if part is not cls))
    return _waits(frame.engine, [_WaitingCode(method, part) for part in parts for method in part.methods.values()])


class _WaitingCode(NamedTuple):
    """A function, or a method of an object of a class."""

    function: FunctionInfo
    cls: ClassInfo | None


def _waits(engine: Interpreter, codes: Iterable[_WaitingCode]) -> bool:
    """Whether code has a collective, or calls other code that does; each is asked once."""
    seen: set[_WaitingCode] = set()
    for _ in range(_MOST_CALLS + 1):
        codes = [each for each in dict.fromkeys(codes) if each not in seen]
        if any(_has_collective(each.function, engine) for each in codes):
            return True
        seen.update(codes)
        codes = [called for each in codes for called in _called(each.function, each.cls, engine)]
    return False


@noted_in_file
def _has_collective(function: FunctionInfo, engine: Interpreter) -> bool:
    return any(_is_collective(engine, function, each.func) for each in of_class(function.node.body, cst.Call))


@noted_in_file
def _called(function: FunctionInfo, cls: ClassInfo | None, engine: Interpreter) -> tuple[_WaitingCode, ...]:
    """What a function, or a method of a class, calls: functions, other methods, and methods of parts."""
    callees = (each for call in of_class(function.node.body, cst.Call) for each in _chosen(function, call.func))
    code = _WaitingCode(function, cls)
    return tuple(dict.fromkeys(each for callee in callees for each in _called_by(engine, code, callee)))


def _chosen(function: FunctionInfo, callee: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a callee stands for: `gather = with_gradient if self.trained else everyone`."""
    match resolved(function.node, callee):
        case cst.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case expression:
            yield expression


def _called_by(engine: Interpreter, code: _WaitingCode, callee: cst.BaseExpression) -> Iterator[_WaitingCode]:
    function, cls = code
    called = named_callee(engine, function.module, callee)
    if isinstance(called, FunctionValue):
        yield _WaitingCode(called.function, None)
    if cls is None or not isinstance(callee, cst.Attribute):
        return
    method = cls.find(own) if (own := self_attribute(callee)) else None
    if method is not None:
        yield _WaitingCode(method, cls)
        return
    if own or self_attribute(callee.value):
        yield from _of_parts(engine, cls, _FORWARD if own else callee.attr.value)


def _of_parts(engine: Interpreter, cls: ClassInfo, method: str) -> Iterator[_WaitingCode]:
    """A method of the objects that code of a class makes."""
    for part in made_by(engine, cls):
        if part is not cls and (found := part.find(method)) is not None:
            yield _WaitingCode(found, part)


def _is_collective(engine: Interpreter, function: FunctionInfo, callee: cst.BaseExpression) -> bool:
    if last_name(callee) not in _COLLECTIVES:
        return False
    owner = callee.value if isinstance(callee, cst.Attribute) else callee
    name = owner.value if isinstance(owner, cst.Name) else ""
    known = library_name_of(engine.global_name(function.module, name))
    return known.startswith(MODULE) or (isinstance(owner, cst.Attribute) and last_name(owner) == "distributed")
