"""Heirs of a library's Trainer with a training loop of their own: what of the library does not run, then.

For example:

    class Own(Trainer):
        def train(self):                                            `own_loop`
            self.engine, *_ = deepspeed.initialize(self.args, self.model)
            for batch in self.batches: ...                          `self.model` is in an engine of DeepSpeed, if any:
                                                                    its hooks reduce gradients, whoever calls the model
    class Whole(Trainer):
        def train(self): super().train()                            none: the loop of the library runs
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import calls_super, holder_name, last_name, names_in, of_class, self_attribute
from trl_lint.knowledge.engines import MAKES_ENGINE
from trl_lint.knowledge.models import WRAP_FOR_RANKS
from trl_lint.knowledge.transformers import INNER_LOOP, MODEL, TRAIN, WRAP_FOR_LOOP

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo


def is_replaced_hook(override: FunctionInfo | None) -> bool:
    """Whether an override of a library's method is there that never calls the library's own."""
    return override is not None and not calls_super(override.node, override.name)


def own_loop(cls: ClassInfo) -> FunctionInfo | None:
    """The method that replaces the training loop of the library; None if that one runs, too."""
    loop = cls.find(TRAIN)
    if loop is None or not is_replaced_hook(loop) or INNER_LOOP in names_in(loop.node) or _runs_loop_of_base(loop):
        return None
    return loop


def _runs_loop_of_base(loop: FunctionInfo) -> bool:
    """Whether it calls that of a base by its name: `Trainer.train(self)`."""
    calls = (call for call in of_class(loop.node, cst.Call) if last_name(call.func) == TRAIN)
    return any(isinstance(arg.value, cst.Name) and arg.value.value == "self" for call in calls for arg in call.args)


@noted_in_file
def has_engine_run_its_model(cls: ClassInfo) -> bool:
    """Whether a class with its own loop has an engine of DeepSpeed run the model, and names no other wrapper."""
    if own_loop(cls) is None:
        return False
    library, _, make = MAKES_ENGINE.partition(".")
    others = (WRAP_FOR_RANKS | WRAP_FOR_LOOP) - {library}
    methods = cls.project_methods()
    return not any(names_in(each.node) & others for each in methods) and any(
        holder_name(call.func) == library
        and last_name(call.func) == make
        and any(self_attribute(arg.value) == MODEL for arg in call.args)
        for each in methods
        for call in of_class(each.node, cst.Call)
    )
