"""Samplers of torch that shuffle alike on all ranks, and loaders without any: found in the code that makes a loader.

sampler = DistributedSampler(rows) if distributed else None     the call is the sampler of a loader with `sampler`
DistributedSampler(rows, shuffle=train)                         none, unless `train` is known to be True
DataLoader(rows, shuffle=True)                                  it certainly has no sampler
DataLoader(rows, **options)                                     unknown, unless all options are
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import assignments, last_name
from trl_lint.analysis.transfer.data.whole_data import rows_of
from trl_lint.domain.kinds import is_none, library_name_of
from trl_lint.domain.loader_samplers import NoSampler, Sampling, ShufflingSampler
from trl_lint.knowledge import library
from trl_lint.knowledge.torch_distributed import (
    BATCHES_OF_SAMPLER,
    DISTRIBUTED_SAMPLER,
    OF_LOADER,
    SHUFFLED_LOADER,
    SHUFFLES,
)

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame


def sampling_of(frame: Frame, args: Arguments, node: cst.CSTNode) -> Sampling | None:
    """The sampler that a loader is given with these arguments, if it is one that shuffles, or that it has none."""
    is_closed = args.star is None and args.double is None
    if is_closed and all(is_none(args.get(*each)) for each in OF_LOADER):
        rows = rows_of(frame, args)
        shuffles = _whether_shuffled(args)
        return rows and NoSampler(frame.module, node, rows.data, rows.expression, shuffles, frame.function)
    return _sampler_of(frame, args)


def _whether_shuffled(args: Arguments) -> bool | None:
    """Whether a loader without a sampler is to shuffle; None if that is not known."""
    shuffles = args.get(*SHUFFLED_LOADER)
    if is_none(shuffles) or shuffles is None:
        return False
    return shuffles.const if isinstance(shuffles.const, bool) else None


def _sampler_of(frame: Frame, args: Arguments) -> ShufflingSampler | None:
    given = next((node for each in OF_LOADER if (node := args.node(*each)) is not None), None)
    calls = [] if given is None else [each for each in _calls(frame, given.value) if _is_sampler(frame, each)]
    if not calls or not all(_shuffles(frame, each) for each in calls):
        return None
    return ShufflingSampler(frame.module, calls[0])


def _calls(frame: Frame, node: cst.BaseExpression, depth: int = 3) -> Iterator[cst.Call]:
    """The calls in this function that may have made the value of an expression, and those of the sampler in it."""
    match node:
        case cst.Call(args=[first, *_]) if last_name(node.func) == BATCHES_OF_SAMPLER and depth:
            yield from _calls(frame, first.value, depth - 1)
        case cst.Call():
            yield node
        case cst.IfExp(body=body, orelse=orelse):
            yield from _calls(frame, body, depth)
            yield from _calls(frame, orelse, depth)
        case cst.Name() | cst.Attribute() if depth:
            for target, value in assignments(frame.root):
                if target.deep_equals(node) and not isinstance(value, (cst.Name, cst.Attribute)):
                    yield from _calls(frame, value, depth - 1)


def _is_sampler(frame: Frame, call: cst.Call) -> bool:
    """Whether a call was run here, and made a sampler of torch's own class."""
    if id(call) not in frame.node_values:
        return False
    return library.canonical(library_name_of(frame.engine.evaluate(frame, call.func))) == DISTRIBUTED_SAMPLER


def _shuffles(frame: Frame, call: cst.Call) -> bool:
    """Whether a call says, or leaves it to the class, that the sampler shuffles."""
    if any(each.star for each in call.args):
        return False
    position, name = SHUFFLES
    places = [each for each in call.args if each.keyword is None]
    given = [each for each in call.args if each.keyword is not None and each.keyword.value == name]
    given += places[position : position + 1]
    values = [frame.node_values.get(id(each.value)) for each in given]
    return all(each is not None and each.const is True for each in values)
