"""Samplers of the project that give on the indices of another sampler, which they are made with, in its order.

class Repeated(Sampler):
    def __init__(self, sampler, times): self.sampler, self.times = sampler, times
    def __iter__(self):
        for index in self.sampler:
            yield from [index] * self.times

Repeated(DistributedSampler(rows), 2)          the sampler inside is that of torch

None if it draws as well, counts or tells the epochs in `__iter__`, or has another method compute something there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.passed_arguments import argument_for
from trl_lint.analysis.program.syntax import assigned_parts, last_name, names_in, of_class, self_attribute
from trl_lint.knowledge import library, random_draws
from trl_lint.knowledge.torch_distributed import EPOCH, SAMPLER, SAMPLER_OF_BATCHES, SEEDS, TOLD_BY

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo

_SAMPLERS = frozenset({SAMPLER, SAMPLER_OF_BATCHES})
# What shows that a sampler has an order, or epochs, of its own.
_OWN_ORDER = frozenset(
    name.rpartition(".")[2]
    for name in (
        *random_draws.DRAWS, *random_draws.DRAWN_BY_METHODS, *random_draws.DRAW_NUMBERS, EPOCH, "random", SEEDS, TOLD_BY
    )
)  # fmt: skip
_GO_THROUGH = frozenset({"enumerate", "iter", "list", "tuple"})


def handed_on(cls: ClassInfo, call: cst.Call) -> cst.BaseExpression | None:
    """The sampler that a call passes to one of the project that gives its indices on; None if it is none of these."""
    gives, makes = cls.find("__iter__"), cls.find("__init__")
    if gives is None or makes is None or _SAMPLERS.isdisjoint(map(library.canonical, cls.library_bases())):
        return None
    if not names_in(gives.node).isdisjoint(_OWN_ORDER) or _calls_own(cls, gives):
        return None
    held = {self_attribute(each) for each in _gone_through(gives.node)} - {""}
    parameters = {
        value.value
        for target, value in assigned_parts(makes.node)
        if self_attribute(target) in held and isinstance(value, cst.Name)
    }
    return argument_for(makes, call, parameters.pop()) if len(held) == len(parameters) == 1 else None


def _calls_own(cls: ClassInfo, method: FunctionInfo) -> bool:
    return any(cls.find(self_attribute(each.func)) is not None for each in of_class(method.node, cst.Call))


def _gone_through(method: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What a method goes through, by itself or as `enumerate` or `list` gives it."""
    yield from (each.iter for each in of_class(method, cst.For))
    yield from (each.iter for each in of_class(method, cst.CompFor))
    yield from (each.item for each in of_class(method, cst.From))
    for call in of_class(method, cst.Call):
        if last_name(call.func) in _GO_THROUGH and call.args:
            yield call.args[0].value
