"""The models of the project that the Trainers of a class are given: what their forward exchanges, its results show.

class Pairs(nn.Module):
    def forward(self, x): return score(everyone(x))         `everyone` gathers
class PairTrainer(Trainer):
    def training_step(self, model, inputs):
        loss = model(inputs["x"])                           of unknown rank: all ranks may have the same
PairTrainer(model=Pairs(), args=args)                       noted: a `PairTrainer` may train a `Pairs`
"""

from __future__ import annotations

from collections.abc import Iterable

from trl_lint.analysis.program.definitions.objects import ProjectModel, class_of
from trl_lint.analysis.program.definitions.reduced_forwards import is_reduced
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models import exchanging_models
from trl_lint.domain.model_roles import is_trained
from trl_lint.domain.ranks import AGREED, UNKNOWN, Rank
from trl_lint.domain.values import Kind, Value

_MODEL = "model"


class GivenModels:
    """The classes of the models that objects of a class of Trainers are given."""

    def __init__(self) -> None:
        self.classes: dict[ClassInfo, None] = {}


def note(frame: Frame, trainer: ClassInfo, args: Arguments) -> None:
    """Note the model that a Trainer is created with, for its class and those that it inherits from."""
    model = args.get(0, _MODEL)
    cls = class_of(model) if model is not None and model.kind is Kind.MODEL else None
    if cls is not None:
        for each in trainer.project_lineage():
            each.notes.of(GivenModels).classes.setdefault(cls.origin)
            frame.engine.note_stored(GivenModels, each, cls.origin)


def of_output(frame: Frame, model: Value, rank: Rank) -> Rank:
    """The fact of what a model computes from its inputs, if its forward exchanges something with the other ranks.

    All ranks may have computed the same from what was gathered. What was reduced may be a statistic beside it.
    """
    classes = _classes(frame, model) if rank.differs else ()
    if any(map(is_reduced, classes)) or any(exchanging_models.gathers(frame, each) for each in classes):
        return AGREED
    return UNKNOWN if any(exchanging_models.exchanges(frame, each) for each in classes) else rank


def _classes(frame: Frame, model: Value) -> Iterable[ClassInfo]:
    """The class of a model; for the model that a Trainer trains, those of the models that Trainers of it are given."""
    if isinstance(model, ProjectModel):
        return (model.cls,)
    trainer = frame.function.cls if frame.function is not None else None
    return trainer.notes.of(GivenModels).classes if trainer is not None and is_trained(model) else ()
