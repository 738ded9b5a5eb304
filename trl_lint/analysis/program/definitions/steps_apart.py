"""Modules of Lightning whose training step trains the parameters of one optimizer at a time, and freezes the others.

For example:

    def training_step(self, batch, index):
        one, other = self.optimizers()
        self.toggle_optimizer(one)                  the parameters of `other` get no gradient from here on
        self.manual_backward(self.loss_of_one(batch))
        self.untoggle_optimizer(one)
        self.toggle_optimizer(other)

Not if all optimizers may have the same parameters: `Adam(self.parameters())`.

Source: lightning/pytorch/core/module.py `toggle_optimizer`; strategies/ddp.py `pre_backward`, read in 2.6.6
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.syntax import last_name, names_in, of_class, self_attribute
from trl_lint.knowledge.lightning import BACKWARD_BY_HAND, OPTIMIZERS_OF, SENDS_BY_HAND, TOGGLE, TRAINS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo


class Toggled(NamedTuple):
    """The first call that freezes the parameters of other optimizers, with the method that it is in."""

    call: cst.Call
    method: FunctionInfo


def toggled(cls: ClassInfo) -> Toggled | None:
    """Where the training step of a class turns to one of several optimizers, and computes gradients by hand then."""
    optimizers = cls.find(OPTIMIZERS_OF)
    if optimizers is None or any(self_attribute(each.func) == "parameters" for each in _calls_in(optimizers)):
        return None
    methods = list(_methods_of_step(cls))
    if any(not SENDS_BY_HAND.isdisjoint(names_in(each.node)) for each in methods):
        return None
    found = [Toggled(each, method) for method in methods for each in _calls_in(method) if _calls(each, TOGGLE)]
    chosen = [each.call.args[0].value for each in found if each.call.args]
    is_by_hand = any(_calls(each, BACKWARD_BY_HAND) for method in methods for each in _calls_in(method))
    are_several = any(not chosen[0].deep_equals(each) for each in chosen)
    return found[0] if is_by_hand and are_several else None


def _calls_in(method: FunctionInfo) -> list[cst.Call]:
    return [*of_class(method.node, cst.Call)]


def _calls(call: cst.Call, name: str) -> bool:
    return self_attribute(call.func) == name


def _methods_of_step(cls: ClassInfo) -> Iterator[FunctionInfo]:
    """The training step of a class, and the methods that it calls, and so on."""
    waiting, seen = [TRAINS], {TRAINS}
    for name in waiting:
        method = cls.find(name)
        if method is None:
            continue
        yield method
        called = {last_name(each.func) for each in _calls_in(method) if self_attribute(each.func)}
        waiting += sorted(called - seen)
        seen |= called
