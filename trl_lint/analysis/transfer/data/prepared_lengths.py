"""Numbers of steps that count the batches of a loader which each rank has a share of.

For example, with `loader = accelerator.prepare(loader)` before:

    steps = epochs * math.ceil(len(loader) / accumulated)      those of each process
    steps = len(loader) * accelerator.num_processes            the same, though it counts the processes
    steps = len(other) // accelerator.num_processes            the same, as `other` has all batches
    steps = epochs * len(other)                                none: `other` has all batches
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once, names_in, of_class
from trl_lint.domain.kinds import LoaderValue
from trl_lint.knowledge.heuristics import COUNTS_PROCESSES

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

_DEPTH = 4


class BatchesOfProcess(NamedTuple):
    """The loader whose batches a number counts. is_divided: whether it counts several of them as one."""

    loader: cst.BaseExpression
    is_divided: bool


def counted_batches(frame: Frame, number: cst.BaseExpression) -> BatchesOfProcess | None:
    """The one loader, of which each rank has a share, whose batches a number counts; None if it counts others."""
    parts = list(_parts(frame.root, number, _DEPTH))
    calls = [each for part in parts for each in of_class(part, cst.Call)]
    measured = [each.args[0].value for each in calls if _is_len(each)]
    loader = frame.known_value(measured[0]) if len(measured) == 1 else None
    if not isinstance(loader, LoaderValue):
        return None
    divisors = [each for part in parts for each in _divisors_in(part)]
    by_processes = [each for each in divisors if any(map(COUNTS_PROCESSES.fits, names_in(each)))]
    has_share = loader.batch is not None and loader.batch.rank.differs
    if not has_share and not by_processes:
        return None
    by_these_alone = [each for each in by_processes if not isinstance(each, cst.BinaryOperation)]
    return BatchesOfProcess(measured[0], len(divisors) > len(by_these_alone))


def _divisors_in(number: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    for each in of_class(number, cst.BinaryOperation):
        if isinstance(each.operator, cst.Divide | cst.FloorDivide):
            yield each.right


def _parts(root: cst.CSTNode, number: cst.BaseExpression, depth: int) -> Iterator[cst.BaseExpression]:
    """A number, and what the names in it stand for."""
    yield number
    for name in of_class(number, cst.Name) if depth else ():
        value = assigned_once(root, name.value)
        if value is not None:
            yield from _parts(root, value, depth - 1)


def _is_len(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Name) and call.func.value == "len" and len(call.args) == 1
