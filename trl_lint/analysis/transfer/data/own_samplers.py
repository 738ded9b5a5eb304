"""Samplers of the project that deal the rows to the ranks by themselves, by numbers that they keep or ask for.

class Strided(Sampler):
    def __iter__(self):
        rank, size = dist.get_rank(), dist.get_world_size()
        return iter(range(rank, self.length, size))             the rank's own rows
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from trl_lint.analysis.program.idioms.samplers import takes_own_share
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import names_in, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import Value


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
