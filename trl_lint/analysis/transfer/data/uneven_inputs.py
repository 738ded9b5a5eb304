"""Loops in blocks that are there for ranks with different numbers of batches: forwards and backwards are answered for.

with model.join():                                          for all other collectives, nobody answers:
    for batch in loader:
        total += model(batch).sum()
        dist.all_reduce(total)                              some ranks wait here for those that have no batch left
with accelerator.join_uneven_inputs([model], even_batches=False):       likewise
with accelerator.join_uneven_inputs([model]):               not uneven: prepared loaders have as many batches
with model.join():
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)): ...        as many on all ranks
    for step in range(steps): ...                           as many on all ranks
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import LOOPS, ancestors, attribute_values, innermost, last_name, self_attribute
from trl_lint.domain.control import Pace
from trl_lint.domain.ranks import DEALT, Origin, Rank, State
from trl_lint.knowledge.accelerate import EVENS_OUT, JOINS_LOADERS
from trl_lint.knowledge.models import JOINS

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value

_MAY_BE_MORE = Rank(State.LOCAL, Origin.DATA, DEALT)


def length_of(frame: Frame, loop: cst.For, element: Value, length: Rank) -> Rank:
    """The number of iterations of a loop: in such a block, that over batches may differ between ranks."""
    parts = element.items or (element,)
    if frame.memory.control.pace is not Pace.UNEVEN or length.differs or all(_is_same(each) for each in parts):
        return length
    blocks = [each for each in reversed(ancestors(frame.root, loop)) if isinstance(each, cst.With)]
    is_dealt = any(each.rank.state is State.SHARD for each in parts)
    block = next((each for each in blocks if _is_uneven(frame, each, is_dealt)), None)
    is_outermost = block is not None and innermost(block, loop, *LOOPS) is None
    return _MAY_BE_MORE if is_outermost else length


def _is_same(part: Value) -> bool:
    return part.rank.state is State.SAME


def _is_uneven(frame: Frame, block: cst.With, is_dealt: bool) -> bool:
    return any(_says_so(frame, each.item, is_dealt) for each in block.items)


def _says_so(frame: Frame, item: cst.BaseExpression, is_dealt: bool) -> bool:
    """Whether a context manager is there for uneven inputs. is_dealt: whether a sampler gives the ranks as many."""
    match item:
        case cst.Call(func=cst.Attribute(attr=cst.Name(name)), args=args) if name == JOINS_LOADERS:
            evens = (each.value for each in args if last_name(each.keyword) == EVENS_OUT)
            return any(_is_off(frame, each) for each in evens)
        case cst.Call(func=cst.Attribute(attr=cst.Name(name))):
            return name == JOINS and not is_dealt
    return False


def _is_off(frame: Frame, option: cst.BaseExpression) -> bool:
    """Whether an option is False, or an attribute to which the class of the object assigns nothing else."""
    name = self_attribute(option)
    if not name or frame.cls is None:
        return frame.value_of(option).const is False
    lineage = (each.node for each in frame.cls.project_lineage())
    values = [value for node in lineage for attribute, value in attribute_values(node) if attribute == name]
    return bool(values) and all(isinstance(each, cst.Name) and each.value == "False" for each in values)
