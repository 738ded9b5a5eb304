"""Values that are reduced on one branch only, and on which ranks agree all the same. Five cases.

The condition is itself reduced, and whatever reads the value has the same condition:

    stops = agreed(stops)
    if stops: steps = agreed(steps)

It is, and says that all ranks take the value that one of them has:

    told = agreed(stops)
    if told: stops = True

Not if the other ranks' branch sets it itself, as what it is there is its own from then on:

    if agreed(loss) < best: bad = 0
    elif rank == 0: bad += 1

Some ranks receive the value, and the ranks that sent it keep their own:

    told = agreed(stops)
    if rank != 0: stops = told

A setting says whether there are other ranks to agree with:

    if args.distributed: losses["eval"] = agreed(losses["eval"])
    if dist_train: losses["eval"] = agreed(losses["eval"])
    if cfg.NUM_GPUS > 1: losses["eval"] = agreed(losses["eval"])
    if args.dist_eval: outputs = gathered(outputs)                   where it also decides about the sampler
    if args.backend == "deepspeed": losses["eval"] = agreed(losses["eval"])
    shown = agreed(loss) if args.distributed else loss

The condition has the same answer on all ranks, and whatever reads the value asks it again:

    if step % 10 == 0: loss = agreed(loss)
    if rank == 0 and step % 10 == 0: log(loss)

What the value is after the branch is unknown: not this rank's own, which the join of both would be.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import chain
from typing import NamedTuple, TypeVar

import libcst as cst

from trl_lint.analysis.program.definitions.sampler_settings import decides_sampler
from trl_lint.analysis.program.idioms.asked_again import names_read_where_asked_again
from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.program.syntax import assignments, last_name, of_class, parts_of_target
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes import job_flags
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.control import Control
from trl_lint.domain.heap import REST, Cell, Memory
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import Identity
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Value

_Key = TypeVar("_Key", bound=Hashable)


class ReducedOnOneBranch(NamedTuple):
    """Where such values are: names, attributes by object, and the keys of containers."""

    names: tuple[str, ...] = ()
    attributes: tuple[tuple[Hashable, str], ...] = ()
    items: tuple[tuple[Identity, Hashable], ...] = ()

    def forget(self, memory: Memory) -> None:
        """Make their ranks unknown. memory: the join of the branches."""
        for name in self.names:
            memory.names[name] = _agreed(memory.names[name])
        for attribute in self.attributes:
            memory.attributes[attribute] = _agreed(memory.attributes[attribute])
        for identity, key in self.items:
            memory.heap[identity] = _forgotten(memory.heap[identity], key)


def reduced_on_one_branch(
    frame: Frame, node: cst.If, taken: Memory, skipped: Memory, test: Value, division: Control, both_end: bool
) -> ReducedOnOneBranch:
    """Where the values are that only one of the branches of an `if` reduces. test: the value of its condition.

    both_end: whether both branches reach their end; else there is nothing to join.
    """
    is_by_rank = division.rank.is_by_rank or test.rank == ranks.REDUCED
    if not both_end:
        return ReducedOnOneBranch()
    if not (is_by_rank or _is_of_job(frame, node.test, test)):
        return _asked_again(frame, node, taken, skipped, division)
    tells = test.rank == ranks.REDUCED
    heap = skipped.heap
    items = (
        (identity, key)
        for identity, cell in taken.heap.items()
        if (other := heap.get(identity)) is not None and other is not cell and other.shape == cell.shape
        for key in _differing(_contents(cell), _contents(other), tells=tells)
    )
    names = _differing(taken.names, skipped.names, tells=tells, but=_set_in_both(node, cst.Name))
    attributes = _differing(taken.attributes, skipped.attributes, tells=tells, but=_set_in_both(node, cst.Attribute))
    return ReducedOnOneBranch(names, attributes, tuple(items))


def _asked_again(frame: Frame, node: cst.If, taken: Memory, skipped: Memory, division: Control) -> ReducedOnOneBranch:
    """The same for a condition that is not about the ranks, if the values are read where it holds again."""
    if division.rank.differs:
        return ReducedOnOneBranch()
    names = _differing(taken.names, skipped.names, tells=False)
    attributes = _differing(taken.attributes, skipped.attributes, tells=False)
    if not names and not attributes:
        return ReducedOnOneBranch()
    parts = [each for each in parts_of(node.test) if not job_flags.mentions_job(each)]
    read = names_read_where_asked_again(frame.root, node, parts)
    return ReducedOnOneBranch(
        tuple(each for each in names if each in read), tuple(each for each in attributes if each[1] in read)
    )


def of_choice(frame: Frame, test: cst.BaseExpression, value: Value, one: Value, other: Value) -> Value | None:
    """The value of a conditional expression, if only one of its branches reduces it. value: that of the condition."""
    is_reduced = (one.rank.is_reduced or other.rank.is_reduced) and (one.rank.differs or other.rank.differs)
    return _agreed(join(one, other)) if is_reduced and _is_of_job(frame, test, value) else None


def _is_of_job(frame: Frame, test: cst.BaseExpression, value: Value) -> bool:
    """Whether a condition, which has the same value on all ranks, is about how the job is run."""
    if value.rank.differs:
        return False
    if job_flags.mentions_job(test) or job_flags.flag_of_job(test) or job_flags.names_engine(test):
        return True
    if isinstance(test, cst.Comparison) and job_flags.counted(test):
        return True
    return decides_sampler(frame.engine.project, frame.function, test)


def _set_in_both(node: cst.If, kind: type[cst.Attribute | cst.Name]) -> frozenset[str]:
    """What the code of both branches assigns: names, or attributes of any object."""
    return frozenset() if node.orelse is None else _set_in(node.body, kind) & _set_in(node.orelse, kind)


def _set_in(branch: cst.CSTNode, kind: type[cst.Attribute | cst.Name]) -> frozenset[str]:
    parts = (part for target, _ in assignments(branch) for part in parts_of_target(target))
    changed = (each.target for each in of_class(branch, cst.AugAssign))
    return frozenset(last_name(each) for each in chain(parts, changed) if isinstance(each, kind))


def _differing(
    taken: Mapping[_Key, Value], skipped: Mapping[_Key, Value], *, tells: bool, but: frozenset[str] = frozenset()
) -> tuple[_Key, ...]:
    """The keys of values that are reduced in one mapping, and this rank's own in the other.

    tells: whether the condition is reduced, so that a constant that is assigned under it is what ranks agree on.
    but: the names and attributes of which that does not hold, as both branches assign them.
    """
    return tuple(
        key
        for key, value in taken.items()
        if (other := skipped.get(key)) is not None
        and (_is_agreed(value) or _is_agreed(other) or (tells and _is_constant(value) and _name_of(key) not in but))
        and (value.rank.differs or other.rank.differs)
    )


def _name_of(key: Hashable) -> Hashable:
    """The name of a value, also as an attribute of some object."""
    return key[-1] if isinstance(key, tuple) and key else key


def _is_agreed(value: Value) -> bool:
    return value.rank.is_reduced or value.rank == ranks.AGREED


def _is_constant(value: Value) -> bool:
    return value.const is not MISSING and value.rank.state is State.SAME


def _contents(cell: Cell) -> dict[Hashable, Value]:
    return cell.entries if cell.rest is None else {**cell.entries, REST: cell.rest}


def _forgotten(cell: Cell, key: Hashable) -> Cell:
    if key is REST:
        return cell.holding(cell.entries, None if cell.rest is None else _agreed(cell.rest))
    found = cell.entries.get(key)
    return cell if found is None else cell.holding({**cell.entries, key: _agreed(found)}, cell.rest)


def _agreed(value: Value) -> Value:
    return value.replace(rank=ranks.AGREED)
