"""Loaders that a Trainer trains on as they are: what `get_train_dataloader` returns is not prepared again.

    def __init__(self, *args, loader, **kwargs):         Mine(loader=DataLoader(Rows(path)), …) goes through all rows
        self.loader = loader
    def get_train_dataloader(self):
        return self.loader

    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, shuffle=True)

Not if the class prepares anything itself, as the Trainer's own method does: `self.accelerator.prepare(loader)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import assignments, names_in, of_class, self_attribute
from trl_lint.domain.kinds import LoaderValue
from trl_lint.domain.loader_samplers import NoSampler
from trl_lint.knowledge.accelerate import PREPARE
from trl_lint.knowledge.random_draws import TRAINER
from trl_lint.knowledge.sharding import PREPARES_LOADERS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value

_HOOK = PREPARES_LOADERS.name.rpartition(".")[2]
# What a class may prepare its loaders with, and its own ways to train.
_PREPARING = frozenset({PREPARE.rpartition(".")[2], "prepare_data_loader"})
_OWN_LOOPS = ("_inner_training_loop", "train")


def without_sampler(value: Value | None) -> NoSampler | None:
    """That a loader has no sampler, if that is certain, and its batches are not those of one rank yet."""
    if not isinstance(value, LoaderValue) or not isinstance(value.sampler, NoSampler):
        return None
    return None if value.batch is None or value.batch.rank.differs else value.sampler


def returned(frame: Frame, value: cst.BaseExpression) -> NoSampler | None:
    """The loader without a sampler that this hook of a Trainer returns.

    Of rows that the Trainer has been given, which may be a stream, `shuffle=True` says that they are none.
    """
    if frame.cls is None or frame.function is None or frame.function.name != _HOOK:
        return None
    if not frame.engine.is_subclass(frame.cls, TRAINER) or _prepares(frame.cls):
        return None
    found = without_sampler(frame.known_value(value))
    is_given = found is not None and isinstance(found.rows, cst.Attribute) and bool(self_attribute(found.rows))
    return None if found is not None and is_given and found.shuffles is not True else found


def given(cls: ClassInfo, args: Arguments) -> NoSampler | None:
    """The loader without a sampler that a Trainer is made with, and trains on."""
    hook, constructor = cls.find(_HOOK), cls.find("__init__")
    if hook is None or constructor is None or _prepares(cls):
        return None
    returns = list(of_class(hook.node, cst.Return))
    name = self_attribute(returns[0].value) if len(returns) == 1 and returns[0].value is not None else ""
    methods = [each.node for base in cls.project_lineage() for each in base.methods.values()]
    kept = [value for each in methods for target, value in assignments(each) if self_attribute(target) == name]
    match kept:
        case [cst.Name(parameter)] if name and any(each.name == parameter for each in constructor.parameters):
            return without_sampler(args.get(-1, parameter))
    return None


def _prepares(cls: ClassInfo) -> bool:
    """Whether a class of the project may give its loaders a sampler, or trains in a loop of its own."""
    bases = cls.project_lineage()
    return any(cls.find(each) for each in _OWN_LOOPS) or any(
        not _PREPARING.isdisjoint(names_in(each.node)) for each in bases
    )
