"""Tests of whether a collection has an element, or a dict a key: which ranks may answer them differently.

For example:

    "labels" in batch                             the same answer on all ranks: the data set decides
    name in ("loss", "reward")                    known, if the name is
    row in rows                                   differs if the row does, or the rows do
    done = set()
    if rank == 0: done.update(steps_of(journal))
    step in done                                  differs: on the other ranks there is nothing in it
"""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from trl_lint.analysis.interpreter.conditions import none_tests, number_tests
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.tensors import tensors
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, ONE_PROCESS_FALSE, ONE_PROCESS_TRUE, GivenNumber, OnOneProcess
from trl_lint.domain.derived import derived
from trl_lint.domain.heap import REST, WILDCARD, names_like
from trl_lint.domain.joins import join_all
from trl_lint.domain.kinds import TupleValue, flag
from trl_lint.domain.numbers import single_process_value, with_single_process_value
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import SAME, Kind, Value

# Of an unknown value nothing else is known; what is read from a model counts as a part of it.
_MAY_BE_KEYS = frozenset({Kind.UNKNOWN, Kind.MODEL})


def membership(frame: Frame, left: Value, operator: cst.CSTNode, right: Value) -> Value:
    """`key in batch` is decided by the data set's schema; `x in data` is not."""
    right = none_tests.questioned(right)
    if (on_some := containers.truth_on_some(frame, right)) is not None:
        return on_some
    if right.kind in (Kind.BATCH, Kind.CONTAINER, Kind.TUPLE) and left.kind is Kind.STRING and not left.rank.differs:
        return flag(_is_among(frame, left, operator, right))
    if right.kind is Kind.BATCH and left.kind in _MAY_BE_KEYS and not left.rank.differs:
        return flag(rank=ranks.UNKNOWN)  # it may be a key
    if right.kind is Kind.UNKNOWN and _may_be_mapping(left, right):
        return flag(rank=ranks.UNKNOWN)  # a batch, or what it holds
    if isinstance(left.const, GivenNumber) and (items := containers.positions_of(frame, right)) is not None:
        return flag(number_tests.is_among(left.const, operator, [item.const for item in items]))
    elements = _elements(frame, right)
    rank = tensors.collapsed(ranks.combine(left.rank, elements.rank))
    value = derived(rank, Kind.NUMBER, left, elements, scalar=True, dtype="bool")
    return (
        with_single_process_value(value, _among_on_one_process(frame, left, operator, right)) if rank.differs else value
    )


def _may_be_mapping(left: Value, right: Value) -> bool:
    """Whether the right side may be a mapping with the same keys on all ranks: `name in parts[rank]`."""
    if left.rank.state is State.SAME and right.rank.origins == Origin.DATA:
        return True
    is_key = not left.rank.differs and (left.kind is Kind.STRING or left.kind in _MAY_BE_KEYS)
    return is_key and right.rank.differs


def _is_among(frame: Frame, left: Value, operator: cst.CSTNode, right: Value) -> object:
    """Whether a string is one of those in a list display: `key in ("loss", "entropy")`; MISSING if not known.

    Or a key of a dict display, which it is not if none of them can be it: others may be put into a dict elsewhere. The
    key of all other entries of a dict (`REST`) may be any of them.
    """
    items = containers.positions_of(frame, right)
    consts = _keys(frame, right) if items is None else [item.const for item in items]
    if (
        consts is None
        or left.const in (MISSING, REST)
        or not all(isinstance(each, str) and WILDCARD not in each for each in consts)
    ):
        return MISSING
    found = any(names_like(str(left.const)).fullmatch(str(each)) for each in consts)
    if found and (items is None or WILDCARD in str(left.const)):
        return MISSING
    return found is isinstance(operator, cst.In)


def _keys(frame: Frame, value: Value) -> list[Hashable] | None:
    """The keys of a dict that has some, if all of them are known."""
    cells = frame.memory.cells(value) if len(value.identities) == 1 else []
    is_known = bool(cells) and cells[0].shape == "dict" and bool(cells[0].entries) and cells[0].rest is None
    return list(cells[0].entries) if is_known else None


def _among_on_one_process(frame: Frame, left: Value, operator: cst.CSTNode, right: Value) -> OnOneProcess | None:
    """The result of `rank in (-1, 0)`, or of `gpu in {0, "cpu"}`, in a run with one process; None if it is open."""
    known = single_process_value(left)
    consts = [item.const for item in frame.memory.contents(right)]
    if (
        known is None
        or len(frame.memory.cells(right)) > 1
        or any(type(const) not in (bool, int, str) for const in consts)
    ):
        return None
    return ONE_PROCESS_TRUE if (known.value in consts) is isinstance(operator, cst.In) else ONE_PROCESS_FALSE


def _elements(frame: Frame, value: Value) -> Value:
    """What `in` compares with: the items of a known container, the keys of a dict."""
    if isinstance(value, TupleValue):
        return join_all(value.items) if value.items else SAME
    if value.kind is not Kind.CONTAINER:
        return value
    frame.consume(value)
    items = join_all(cell.element() for cell in frame.memory.cells(value) if cell.shape != "dict")
    return SAME if items.rank.state is State.BOTTOM else items
