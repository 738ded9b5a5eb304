"""What hooks of a LightningModule get of what this rank's own steps have returned; before 2.0, the end of an epoch all.

validation_step(self, batch, batch_idx)         returns {"loss": loss}
on_validation_batch_end(self, outputs, …)       gets this: `outputs["loss"]` is of this rank's batch
validation_step_end(self, outputs)              the same, before 2.0, and what it returns counts
validation_epoch_end(self, outputs)             gets a list of these: `outputs[0]["loss"]` is of this rank's share
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from trl_lint.analysis.interprocedural.summaries import Runs, Summary
from trl_lint.analysis.program.definitions.creations import parts_of_programs, programs_of
from trl_lint.analysis.program.definitions.lightning_trainers import DEALS_ROWS, share_data_out
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.heap import Cell
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import lightning


class Enter(Protocol):
    """Runs a method as Lightning calls it; a frame has the containers that it is passed."""

    def __call__(
        self, function: FunctionInfo, cls: ClassInfo, parameters: Mapping[str, Value], frame: Frame | None = None
    ) -> Summary: ...


def arguments(engine: Runs, cls: ClassInfo, method: FunctionInfo, enter: Enter) -> tuple[Mapping[str, Value], Frame]:
    """What Lightning passes to a method, and a frame with the containers in it.

    enter: runs a step as Lightning calls it.
    """
    frame = Frame(engine, method.module)
    bases = cls.library_bases()
    parameters = _passed(engine, cls, method.name)
    of_batch = lightning.step_of_batch(method.name, bases)
    name = of_batch or lightning.step_before(method.name, bases)
    summary = _run(engine, cls, name, enter) if name else None
    if summary is not None and not method.name.endswith("_step_end"):
        summary = _ended(engine, cls, name, summary, enter)
    if summary is None or summary.result.kind in (Kind.NONE, Kind.UNKNOWN):
        return {key: value for key, value in parameters.items() if not name or key != "outputs"}, frame
    frame.memory.heap = dict(summary.final)
    result = summary.result
    return {
        **parameters,
        "outputs": result if of_batch else frame.allocate(method.node, Cell("list", rest=result)),
    }, frame


def _run(engine: Runs, cls: ClassInfo, name: str, enter: Enter) -> Summary | None:
    """A run of a step as Lightning calls it."""
    step = cls.find(name)
    return None if step is None else enter(step, cls, _passed(engine, cls, name))


def _passed(engine: Runs, cls: ClassInfo, name: str) -> Mapping[str, Value]:
    """What Lightning passes to a method; no batch is known to be of this rank where no trainer shares the rows out."""
    bases = cls.library_bases()
    parameters = lightning.parameters_of(name, bases)
    if not parameters or not lightning.is_module(bases) or _share_data_out(engine, cls):
        return parameters
    return lightning.parameters_of(name, bases, shared_out=False)


def _share_data_out(engine: Runs, cls: ClassInfo) -> bool:
    parts = parts_of_programs(engine.project, cls, DEALS_ROWS)
    return share_data_out(programs_of(engine.project, cls), parts)


def _ended(engine: Runs, cls: ClassInfo, name: str, summary: Summary, enter: Enter) -> Summary | None:
    """A run of a step, or of what makes something else of its result at its end."""
    end = cls.find(f"{name}_end")
    if end is None:
        return summary
    frame = Frame(engine, end.module)
    frame.memory.heap = dict(summary.final)
    return enter(end, cls, {"outputs": summary.result}, frame)
