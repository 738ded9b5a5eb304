"""What the end of an epoch gets in a LightningModule: before 2.0, a list of what this rank's own steps have returned.

validation_step(self, batch, batch_idx)         returns {"loss": loss}
validation_epoch_end(self, outputs)             gets a list of these: `outputs[0]["loss"]` is of this rank's share
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trl_lint.analysis.interprocedural.summaries import Runs, Summary
from trl_lint.analysis.program.definitions.creations import programs_of
from trl_lint.analysis.program.definitions.lightning_trainers import share_data_out
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.heap import Cell
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import lightning

Enter = Callable[[FunctionInfo, ClassInfo, Mapping[str, Value]], Summary]


def arguments(engine: Runs, cls: ClassInfo, method: FunctionInfo, enter: Enter) -> tuple[Mapping[str, Value], Frame]:
    """What Lightning passes to a method, and a frame with the containers in it.

    enter: runs a step as Lightning calls it.
    """
    frame = Frame(engine, method.module)
    bases = cls.library_bases()
    parameters = _passed(engine, cls, method.name, bases)
    name = lightning.step_before(method.name, bases)
    step = cls.find(name) if name else None
    # What is made of a step's result at its end is unknown.
    if step is None or cls.find(f"{name}_end") is not None:
        return parameters, frame
    summary = enter(step, cls, _passed(engine, cls, name, bases))
    if summary.result.kind in (Kind.NONE, Kind.UNKNOWN):
        return parameters, frame
    frame.memory.heap = dict(summary.final)
    outputs = frame.allocate(method.node, Cell("list", rest=summary.result))
    return {**parameters, "outputs": outputs}, frame


def _passed(engine: Runs, cls: ClassInfo, name: str, bases: tuple[str, ...]) -> Mapping[str, Value]:
    is_step = name in lightning.STEPS and lightning.is_module(bases)
    shared_out = not is_step or share_data_out(programs_of(engine.project, cls))
    return lightning.parameters_of(name, bases, shared_out)
