"""Samplers of the project that draw rows, or episodes, from a generator that they seed with the number of the rank.

class Episodes(Sampler):
    def __iter__(self):
        generator.manual_seed(self.seed + self.epoch + 1000 * self.rank)      each rank draws rows of its own
        generator.manual_seed(self.seed + self.epoch)                         all ranks draw the same
        rng = random.Random(seed); with `seed = self.seed + dist.get_rank()`  of its own, too

None if another generator is seeded alike, or the ranks may agree on the order (`dist.broadcast(order, 0)`).
Nor if a call that makes one says a number for the rank, `Episodes(rows, rank=0)`, or leaves it to a default.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.samplers import given_to_each
from trl_lint.analysis.program.project.passed_arguments import argument_for
from trl_lint.analysis.program.syntax import (
    attribute_values,
    below,
    last_name,
    names_in,
    of_class,
    resolved,
    self_attribute,
    used_names,
)
from trl_lint.analysis.state.frame import Frame
from trl_lint.knowledge.heuristics import MAY_SYNCHRONISE
from trl_lint.knowledge.random_draws import GENERATOR_METHODS, SEEDED_GENERATORS
from trl_lint.knowledge.torch_distributed import SAMPLER, SAMPLER_OF_BATCHES

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.domain.values import Value

_SAMPLERS = frozenset({SAMPLER, SAMPLER_OF_BATCHES})
_INIT = "__init__"
_SEEDERS = GENERATOR_METHODS | SEEDED_GENERATORS


def draws_its_own(frame: Frame, cls: ClassInfo) -> bool:
    """Whether the objects of a class of samplers seed what they draw from with the rank, whoever has made them."""
    gives = cls.find("__iter__")
    if gives is None or not isinstance(gives.node, cst.FunctionDef) or _SAMPLERS.isdisjoint(cls.library_bases()):
        return False
    called = {last_name(call.func) for call in of_class(gives.node, cst.Call)}
    seeds = [[part for each in given for part in _parts(gives.node, each)] for given in _seeds(gives.node)]
    if not seeds or any(map(MAY_SYNCHRONISE.fits, called)):
        return False
    return all(any(_is_rank(frame, cls, gives, part) for part in each) for each in seeds)


def _seeds(method: cst.FunctionDef) -> Iterator[list[cst.BaseExpression]]:
    """What each call that seeds a generator is passed."""
    for call in of_class(method, cst.Call):
        if last_name(call.func) in _SEEDERS:
            yield [each.value for each in call.args]


def _parts(method: cst.FunctionDef, seed: cst.BaseExpression, depth: int = 3) -> Iterator[cst.BaseExpression]:
    """What a seed is made of, with what the method has given a name once."""
    for part in below(seed):
        if isinstance(part, cst.Name) and depth:
            written = resolved(method, part)
            yield from _parts(method, written, depth - 1) if written is not part else ()
        if isinstance(part, (cst.Attribute, cst.Call)):
            yield part


def _is_rank(frame: Frame, cls: ClassInfo, method: FunctionInfo, part: cst.BaseExpression) -> bool:
    """Whether a part of a seed is the rank: an attribute, for each call that makes a sampler, or asked for there."""
    name = self_attribute(part)
    if name:
        given = list(given_to_each(cls, name))
        kept = frame.read_attribute(cls, name)
        is_told = kept is not None and bool(given) and all(map(_is_told, (kept, *given)))
        return is_told and not any(isinstance(each, cst.Integer) for each in _written_for(frame, cls, name))
    if not isinstance(part, cst.Call) or "self" in names_in(part):
        return False
    return frame.engine.evaluate(Frame(frame.engine, method.module, method), part).rank.is_by_rank


def _is_told(value: Value) -> bool:
    """Whether a value is the rank of this process, and not a default that is taken for it."""
    return value.rank.is_by_rank and value.provenance is not None


def _written_for(frame: Frame, cls: ClassInfo, name: str) -> Iterator[cst.BaseExpression | None]:
    """What calls write for the parameters that an attribute is made of: a 0 is taken for the rank."""
    lineage = cls.project_lineage()
    files = dict.fromkeys((frame.module, *(each.module for each in lineage)))
    named = {each.name for each in lineage}
    calls = [each for file in files for each in of_class(file.tree, cst.Call) if last_name(each.func) in named]
    calls += [call for each in lineage for call in of_class(each.node, cst.Call) if last_name(call.func) == _INIT]
    for init in (each.methods[_INIT] for each in lineage if _INIT in each.methods):
        used = {used for kept, value in attribute_values(init.node) if kept == name for used in used_names(value)}
        for parameter in used & {each.name for each in init.parameters}:
            yield from (argument_for(init, call, parameter) for call in calls)
