"""Models that DistributedDataParallel wraps although a step leaves some of their parameters without a gradient.

Events of a program in which nothing uses `self.head` of a `Net`:

    model = DDP(Net().to(rank))                                    LayerUnused(name="head")
    model = DDP(Net().to(rank), find_unused_parameters=True)       none
    for p in model.module.body.parameters(): p.requires_grad = False
    loss.backward()                                                FrozenLate, if DDP has wrapped it before
    model = accelerator.prepare(Net())                             LayerUnused(name="head")
    Trainer(strategy="ddp").fit(Net(), loader)                     LayerUnused(name="head"), for Lightning since 2.0
    Trainer().fit(Gan(), loader)                                   StepsApart, if `Gan` toggles its optimizers

Source: torch/nn/parallel/distributed.py, and csrc/distributed/c10d/reducer.cpp `ensure_prior_reduction_finished`
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.gradient_events import FrozenLate, LayerUnused, StepsApart
from trl_lint.analysis.program.definitions.gradient_waits import waits_for_all
from trl_lint.analysis.program.definitions.lightning_trainers import waits_for_all_gradients
from trl_lint.analysis.program.definitions.objects import ProjectModel, class_of
from trl_lint.analysis.program.definitions.steps_apart import toggled
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.definitions.whole_penalties import computes_with_all_parameters
from trl_lint.analysis.program.idioms.evaluated_wrappers import is_only_evaluated
from trl_lint.analysis.program.project.import_lines import codes_of_programs
from trl_lint.analysis.program.syntax import callee_of, keyword_value, last_name, of_class, resolved
from trl_lint.analysis.state.callees import library_function_of
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.models import frozen_late
from trl_lint.analysis.transfer.models.unused_layers import unused_layers
from trl_lint.domain.kinds import class_name_of
from trl_lint.domain.provenance import Step
from trl_lint.knowledge import library
from trl_lint.knowledge.accelerate import PREPARE
from trl_lint.knowledge.lightning import BEFORE_2, OLD_PACKAGE, SINCE_2, TRAINERS
from trl_lint.knowledge.random_draws import TRAINER
from trl_lint.knowledge.schema import Function, Transfer
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS
from trl_lint.knowledge.torch_distributed import DDP
from trl_lint.knowledge.trained_layers import ALLOWED_OTHERWISE, FINDS_UNUSED, TOLD_TO_FIND

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row

_WRAPPED = "the model is wrapped here, and waits for the gradients of all its parameters"
_TOGGLED = "the parameters of other optimizers are frozen here"
_NAME = f".{DDP.rpartition('.')[2]}"
_ALLOWED_OTHERWISE = re.compile(ALLOWED_OTHERWISE)
_TOLD_TO_FIND = re.compile(TOLD_TO_FIND)


class UnusedParameters(Observer["Frame"]):
    emits = frozenset({FrozenLate, LayerUnused, StepsApart})
    statements = (cst.Expr, cst.For)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        part = frozen_late.frozen_part(statement)
        wrapped = None if part is None else frozen_late.wrapped_before(frame, part)
        if wrapped is None or part is None or is_test(frame.function) or not _waits(frame, wrapped.node):
            return
        is_trained = frozen_late.is_trained_next(frame, statement, wrapped.node)
        if is_trained and not frozen_late.may_be_frozen_before(frame, wrapped.node):
            step = Step(wrapped.module, wrapped.node, _WRAPPED)
            frame.emit(FrozenLate, part, part=part, wrapped=step)

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        is_plain = name == DDP and waits_for_all(node, lambda told: frame.value_of(told).const is False)
        if is_plain and not _says(frame, _ALLOWED_OTHERWISE) and not _may_find_otherwise(frame, node):
            _emit(frame, args.get(0, "module"), node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if not isinstance(row, Function) or row.returns != Transfer.PREPARED:
            return
        if row.switch is not None and args.get(*row.switch) is not None:
            return  # of a model that is only evaluated, nothing is wrapped
        if _is_of_trainer(frame) or not any(isinstance(each, ProjectModel) for each in args.positional):
            return
        if not _is_told(frame):
            for place, each in enumerate(args.positional):
                _emit(frame, each, node, place)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        trainer = class_name_of(receiver)
        if name == "fit" and trainer in TRAINERS and isinstance(node, cst.Call):
            model = args.get(0, "model")
            made = None if class_of(model) is None else _made_with_ddp(frame, trainer, node)
            if made is not None and not _is_told(frame):
                _emit(frame, model, node)
                _emit_apart(frame, model, made)


def _waits(frame: Frame, wrapping: cst.CSTNode) -> bool:
    """Whether a call wraps a model so that DDP waits for the gradients of all parameters."""
    if not waits_for_all(wrapping) or _says(frame, _ALLOWED_OTHERWISE):
        return False
    return last_name(callee_of(wrapping)) != PREPARE or not _is_told(frame)


def _made_with_ddp(frame: Frame, trainer: str, fit: cst.Call) -> cst.Call | None:
    """The call that makes the Trainer whose `fit` is called, if it puts modules into a DDP that waits for all."""
    owner = fit.func.value if isinstance(fit.func, cst.Attribute) else None
    made = None if owner is None else resolved(frame.root, owner)
    if not isinstance(made, cst.Call) or not waits_for_all_gradients(made):
        return None
    release = frame.engine.versions.get(OLD_PACKAGE, "")
    is_old = release.startswith(("0", "1")) or frame.module.mentions(BEFORE_2)
    is_new = not is_old and (bool(release) or frame.module.mentions(SINCE_2))
    return made if is_new or not trainer.startswith(OLD_PACKAGE) else None


def _is_of_trainer(frame: Frame) -> bool:
    """Whether the code is that of a Trainer, whose Accelerator searches for unused parameters by default.

    Source: transformers, trainer.py `Trainer._wrap_model`, read in 4.51.3
    """
    bases = () if frame.cls is None else frame.cls.library_bases()
    return any(library.is_subclass(each, TRAINER, frame.engine.versions) for each in bases)


def _is_told(frame: Frame) -> bool:
    return _says(frame, _TOLD_TO_FIND) or _says(frame, _ALLOWED_OTHERWISE)


def _says(frame: Frame, pattern: re.Pattern[bytes]) -> bool:
    codes = codes_of_programs(frame.engine.project, frame.module.path)
    return codes is None or any(pattern.search(each) for each in codes.values())


def _penalises_all(frame: Frame) -> bool:
    codes = codes_of_programs(frame.engine.project, frame.module.path)
    return codes is None or any(map(computes_with_all_parameters, codes.values()))


def _may_find_otherwise(frame: Frame, wrapping: cst.CSTNode) -> bool:
    """Whether a class of the project calls DDP, or another call wraps the same model that may be told to search."""
    match wrapping:
        case cst.Call(func=func, args=[cst.Arg(value=model), *_]) if library_function_of(frame, func).endswith(_NAME):
            calls = [each for each in of_class(frame.root, cst.Call) if keyword_value(each, FINDS_UNUSED) is not None]
            same = [each for each in calls if each is not wrapping and each.args[0].value.deep_equals(model)]
            return not all(map(waits_for_all, same))
    return True


def _runs_without_gradients(frame: Frame, cls: ClassInfo, wrapping: cst.CSTNode, place: int) -> bool:
    forward, around = cls.find("forward"), None if frame.cls is None else frame.cls.node
    is_forward_without = forward is not None and not WITHOUT_GRADIENTS.isdisjoint(forward.decorators)
    return is_forward_without or is_only_evaluated(frame.root, around, wrapping, place)


def _emit(frame: Frame, model: Value | None, node: cst.CSTNode, place: int = 0) -> None:
    cls = class_of(model)
    if cls is None or model is None or not model.grad or is_test(frame.function):
        return
    layers = unused_layers(frame, cls)
    if not layers or _runs_without_gradients(frame, cls, node, place):
        return
    for layer in layers:
        frame.emit(
            LayerUnused,
            node,
            tag=(layer.cls, layer.part.name),
            name=layer.part.name,
            is_pooler=layer.is_pooler,
            readers=layer.readers,
            runs=layer.runs,
            made=layer.part.target,
            constructor=layer.part.constructor,
            wrapped=frame.step(node, _WRAPPED),
        )


def _emit_apart(frame: Frame, model: Value | None, trainer: cst.Call) -> None:
    cls = class_of(model)
    found = None if cls is None or is_test(frame.function) else toggled(cls)
    if cls is None or found is None or _penalises_all(frame):
        return
    step = Step(found.method.module, found.call, _TOGGLED)
    frame.emit(StepsApart, trainer, owner=cls.name, toggled=step)


OBSERVER = UnusedParameters()
