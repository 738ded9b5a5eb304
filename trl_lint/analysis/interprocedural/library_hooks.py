"""A library's hooks that a project overrides: what it passes to them, and what it never passes to an overridden one.

For example:

    class Base(Trainer):
        def compute_loss(self, model, inputs):      the trainer passes the wrapped model
            return self.run(model, inputs)
        def evaluate_all(self):
            return self.run(self.model, self.inputs)

    class Other(Base):
        def compute_loss(self, model, inputs): ...  an override that does not call that of the base
        def run(self, model, inputs): ...           gets the bare model only, from `evaluate_all`

    class Own(Trainer):
        def train(self):                            an override that does not call that of the base
            for batch in self.batches: self.training_step(self.model, batch)
        def training_step(self, model, inputs): ... gets the bare model only, from `train`
        def evaluate(self): ...                     by `train` only, if that calls it; `_save_checkpoint` as well

    class Whole(Trainer):
        def evaluate(self, rows):                   overrides of all that passes a loader to `prediction_loop`
            return self.prediction_loop(DataLoader(rows), "all")
        def predict(self, rows): ...
        def prediction_loop(self, dataloader, description): ...    gets the loader that `evaluate` makes

    class Fused(GRPOTrainer):
        def compute_loss(self, model, inputs):      alone calls `compute_liger_loss`, in TRL as well
            return self.compute_liger_loss(self.accelerator.unwrap_model(model), inputs)
        def compute_liger_loss(self, bare, inputs)  gets the model inside the wrapper only
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from trl_lint.analysis.program.definitions.loops_of_trainers import is_replaced_hook, own_loop
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import (
    calls_super,
    of_class,
    resolved,
    self_attribute,
)
from trl_lint.analysis.state.containers import part_of_dict
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models.wrapped_models import is_wrapped
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import ContainerValue, LoaderValue, flag
from trl_lint.domain.provenance import source_step
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.schema import Hook
from trl_lint.knowledge.transformers import (
    CALL_LOOPS,
    CALLED_BY_LOOP,
    EVALUATE,
    LOOPS_OVER_STEPS,
    MODEL,
    TRAINING_STEP,
)


def logged_part(frame: Frame, row: Hook, result: Value) -> Value | None:
    """The part of a hook's result that the library logs; None if it is not known, or if it does not get there."""
    if isinstance(row.stored, int):
        return result.items[row.stored] if row.stored < len(result.items) else None
    if row.stored is None or frame.cls is None or not isinstance(result, ContainerValue):
        return None
    evaluate = frame.cls.find(EVALUATE)
    is_logged = evaluate is None or calls_super(evaluate.node, EVALUATE)
    return part_of_dict(frame, result, row.stored) if is_logged else None


def parameters_of(rows: tuple[Hook, ...]) -> Mapping[str, Value]:
    """The facts of a hook's parameters, by position; those that all releases that may be in use share."""
    newest = rows[-1].parameters
    if len(rows) == 1:
        return newest
    merged = dict(newest)
    for row in rows[:-1]:
        for name, value in zip(newest, row.parameters.values(), strict=False):
            merged[name] = join(merged[name], value)
    return merged


def given_parameters(cls: ClassInfo, method: FunctionInfo, rows: tuple[Hook, ...]) -> Mapping[str, Value]:
    """The facts of a hook's parameters in a class; of a model or a loader that the library never passes there, none."""
    parameters = parameters_of(rows)
    if method.name in LOOPS_OVER_STEPS and all(is_replaced_hook(cls.find(each)) for each in CALL_LOOPS):
        return {name: UNKNOWN if isinstance(value, LoaderValue) else value for name, value in parameters.items()}
    if rows[-1].name == TRAINING_STEP:
        is_own = _hands_own_model(cls, method.name)
    else:
        is_own = bool(rows[-1].caller) and is_replaced_hook(cls.find(rows[-1].caller))
    if not is_own:
        return parameters
    return {name: UNKNOWN if is_wrapped(value) else value for name, value in parameters.items()}


def _hands_own_model(cls: ClassInfo, hook: str) -> bool:
    """Whether `train` is replaced by a loop that calls a hook itself, each time with the trainer's bare model.

    Only the loop of the library wraps the model. A class that sets `self.model` may have wrapped it by itself.
    """
    loop = own_loop(cls)
    if loop is None:
        return False
    calls = _calls_in(loop, hook)
    models = [resolved(loop.node, call.args[0].value) if call.args else None for call in calls]
    is_set = any(MODEL in base.assigned() for base in cls.project_lineage())
    return bool(calls) and not is_set and all(each is not None and self_attribute(each) == MODEL for each in models)


def is_left_to_own_loop(cls: ClassInfo, hook: str) -> bool:
    """Whether the library never evaluates or saves by it, as `train` is replaced by a loop that does."""
    loop = own_loop(cls) if hook in CALLED_BY_LOOP else None
    return loop is not None and bool(_calls_in(loop, hook))


def _calls_in(method: FunctionInfo, name: str) -> list[cst.Call]:
    return [call for call in of_class(method.node, cst.Call) if self_attribute(call.func) == name]


def added_switches(method: FunctionInfo, parameters: Mapping[str, Value]) -> dict[str, Value]:
    """The switches that a hook adds to the library's parameters; the library leaves them at their defaults."""
    if is_callback(parameters):
        return {}
    added = (each for each in method.parameters[1 + len(parameters) :] if not each.star and each.name not in parameters)
    switches = {each.name: getattr(each.default, "value", "") for each in added}
    return {name: _SWITCHES[value] for name, value in switches.items() if value in _SWITCHES}


_SWITCHES = {name: flag(name == "True") for name in ("False", "True")}


def is_callback(parameters: Mapping[str, Value]) -> bool:
    return "control" in parameters


def is_from_overridden_hook(cls: ClassInfo, base: ClassInfo, value: Value) -> bool:
    """Whether a wrapped model was passed to a method of a base that the class overrides.

    An override that calls that of the base passes it a model of its own.
    """
    step = source_step(value.provenance) if is_wrapped(value) else None
    if step is None:
        return False
    for method in base.methods.values():
        if any(step.node is each for each in (method.node, *method.node.params.params)):
            override = cls.find(method.name)
            return override is not None and override is not method
    return False
