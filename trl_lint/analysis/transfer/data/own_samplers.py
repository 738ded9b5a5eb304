"""Samplers of the project that deal the rows to the ranks by themselves, by numbers that they keep or ask for.

class Strided(Sampler):
    def __iter__(self):
        rank, size = dist.get_rank(), dist.get_world_size()
        return iter(range(rank, self.length, size))             the rank's own rows

class Blocks(Sampler):
    def __init__(self, length, rank, size): self.indices = range(rank * length // size, (rank + 1) * length // size)
    def __iter__(self): yield from self.indices                 those that the rank's number has picked
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from trl_lint.analysis.program.idioms.samplers import given_to_each, takes_own_share
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import last_name, names_in, of_class, resolved, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data.own_shares import element_of
from trl_lint.domain.values import Value
from trl_lint.knowledge.torch_distributed import SAMPLER


def deals_itself(frame: Frame, cls: ClassInfo) -> bool:
    """Whether the objects of a class of samplers give each rank a share of its own, whoever has made them."""
    return takes_own_share(cls, partial(_number_in, frame, cls))


def _number_in(frame: Frame, cls: ClassInfo, method: FunctionInfo, node: cst.BaseExpression) -> Value | None:
    """An attribute of a sampler, or what a method of it asks for where it deals: not what it computes from its own."""
    name = self_attribute(node)
    if name:
        return frame.read_attribute(cls, name)
    if isinstance(node, cst.Integer) or "self" in names_in(node):
        return None
    return frame.engine.evaluate(Frame(frame.engine, method.module, method), node)


def goes_through_own(frame: Frame, cls: ClassInfo) -> bool:
    """Whether the objects of a class of samplers go through indices that each of them was made with, by the rank."""
    method = cls.find("__iter__")
    if method is None or not isinstance(method.node, cst.FunctionDef) or SAMPLER not in cls.library_bases():
        return False
    return any(_is_picked_by_rank(frame, cls, self_attribute(each)) for each in _gone_through(method.node))


def _gone_through(method: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
    """What an `__iter__` goes through: `return iter(rows)`, `yield from rows`."""
    for each in of_class(method, cst.Return):
        match each.value:
            case cst.Call(func=cst.Name("iter"), args=[cst.Arg(value=rows)]):
                yield resolved(method, rows)
            case cst.Call(func=cst.Attribute(value=rows), args=[]) as call if last_name(call.func) == "__iter__":
                yield resolved(method, rows)
    yield from (resolved(method, each.item) for each in of_class(method, cst.From))


def _is_picked_by_rank(frame: Frame, cls: ClassInfo, attribute: str) -> bool:
    """Whether the indices in an attribute of a sampler differ by the rank, for each call that makes one."""
    kept = frame.read_attribute(cls, attribute) if attribute else None
    if kept is None or not element_of(frame, kept).rank.is_by_rank:
        return False
    given = [element_of(frame, each) for each in given_to_each(cls, attribute)]
    return bool(given) and all(each.rank.is_by_rank for each in given)
