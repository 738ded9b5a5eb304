"""The end of an iteration that some ranks have reached by a `continue`: what they have set before it differs.

For example:

    for batch in loader:
        loss = train(batch)
        if loss.isnan():
            failed = True
            continue                 these ranks skip the rest, and the others have `failed` as it was
        log(loss)
    if failed: dist.barrier()        `failed` differs between ranks

What the rest of the iteration sets as well does not: `step += 1; continue` where the others count the step later.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.syntax import assigned_parts, below, innermost, of_class, precedes
from trl_lint.analysis.state.frame import Frame, Loop
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.control import Control
from trl_lint.domain.heap import Memory
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.values import Kind, Value


def merged(frame: Frame, outer: Control, end: Memory | None, loop: Loop) -> Memory | None:
    """The state at the end of an iteration, joined with those at each `continue`. outer: control at the loop's head."""
    for node, memory in zip(loop.skipped_by, loop.continues, strict=True):
        if end is None:
            end = memory
            continue
        leaving = _differing_around(frame.root, node, outer, memory.control)
        flags = _set_before(frame.root, node) if leaving else set()
        of_all = _set_after(frame.root, node) if flags else set()
        apart = [
            name
            for name in flags
            if _are_apart(end.names.get(name), memory.names.get(name), is_set_by_all=name in of_all)
        ]
        end = end.merge(memory)
        for name in apart:
            value = end.names[name]
            if value.kind is Kind.NUMBER and not value.rank.differs:
                end.names[name] = value.replace(
                    rank=ranks.nonlinear(Rank(State.LOCAL, reduce(or_, (each.rank.origins for each in leaving)))),
                    const=MISSING,
                    provenance=leaving[-1].provenance,
                )
    return end


def _differing_around(root: cst.CSTNode, leaves: cst.Continue, outer: Control, inner: Control) -> list[Control]:
    """The conditions inside a loop that differ between ranks, of those that are around a `continue`.

    What an earlier one has kept away gets there in a later iteration: `if step > limit: done = True; continue`.
    """
    known = {id(each.provenance) for each in outer.conditions}
    tests = {id(part) for around, _ in ifs_around(root, leaves) for part in below(around.test)}
    new = (each for each in inner.conditions if id(each.provenance) not in known and each.rank.differs)
    return [each for each in new if id(each.provenance.node) in tests]


def _set_before(root: cst.CSTNode, leaves: cst.Continue) -> set[str]:
    """The names that the block of a `continue` assigns."""
    block = innermost(root, leaves, cst.IndentedBlock)
    if block is None:
        return set()
    return {each.value for each in _targets_in(block)}


def _set_after(root: cst.CSTNode, leaves: cst.Continue) -> set[str]:
    """The names that the rest of the iteration assigns, which ranks that stay run: both count the batch."""
    loop = innermost(root, leaves, cst.For, cst.While)
    return set() if loop is None else {each.value for each in _targets_in(loop.body) if precedes(root, leaves, each)}


def _targets_in(code: cst.CSTNode) -> Iterator[cst.Name]:
    yield from (target for target, _ in assigned_parts(code) if isinstance(target, cst.Name))
    yield from (each.target for each in of_class(code, cst.AugAssign) if isinstance(each.target, cst.Name))


def _are_apart(staying: Value | None, leaving: Value | None, *, is_set_by_all: bool) -> bool:
    """Whether both are values of the same on all ranks that have them, and may be others.

    is_set_by_all: those that stay have set it as well, perhaps to the same.
    """
    if staying is None or leaving is None or staying.kind is not Kind.NUMBER or leaving.kind is not Kind.NUMBER:
        return False
    if staying.const is MISSING or leaving.const is MISSING:
        return staying is not leaving and not is_set_by_all
    return bool(staying.const != leaving.const)
