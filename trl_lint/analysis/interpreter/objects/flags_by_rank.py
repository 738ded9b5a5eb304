"""Flags of an object of unknown class that a test of the rank sets to True on some ranks and to False on the others.

For example:

    if args.rank == 0:
        args.log = True          from here on, `args.log` differs between ranks
    else:
        args.log = False
    args.log = False             and so it does where all of them have been given the opposite just before
    if rank == 0:
        args.log = True
    if rank == 0:
        args.log = True          but here the other ranks keep what they had
    if rank == 0:
        args.several = False     off in the rest of the branch: this rank goes on by itself
        loader = make(args)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from trl_lint.analysis.program.syntax import inwards
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.constants import WORLD_FALSE
from trl_lint.domain.kinds import NumberValue
from trl_lint.domain.provenance import SwitchedOff
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Value

_FLAG = NumberValue(ranks.RANK_LOCAL, scalar=True, dtype="bool")


def left_by(frame: Frame, target: cst.Attribute, value: Value) -> Value | None:
    """What a flag is once the branch in which it is set has ended: one that differs by the rank; None if it may not."""
    tests = {id(place_of(each)) for each in frame.memory.control.conditions if each.rank.is_by_rank}
    if not tests or not isinstance(value.const, bool):
        return None
    around = [*inwards(frame.root, target)]
    for index, (branch, taken) in reversed([*enumerate(around)]):
        if isinstance(branch, cst.If):
            before = _before(*around[index - 1]) if index else ()
            other = _set_in(_elsewhere(branch, taken, before), target)
            differs = id(branch.test) in tests and other is not None and other is not value.const
            return _FLAG.replace(provenance=frame.step(target, "`{}` differs between ranks")) if differs else None
    return None


def off_in_branch(frame: Frame, target: cst.Attribute, value: Value) -> Value | None:
    """What a flag is in the rest of a branch of a test of the rank, if a statement of the branch switches it off."""
    tests = {id(place_of(each)) for each in frame.memory.control.conditions if each.rank.is_by_rank}
    if not tests or value.const is not False:
        return None
    blocks = [each for each, _ in inwards(frame.root, target) if isinstance(each, cst.BaseCompoundStatement)]
    if not blocks or not isinstance(blocks[-1], cst.If) or id(blocks[-1].test) not in tests:
        return None
    return value.replace(const=WORLD_FALSE, provenance=SwitchedOff(frame.module, target, "`{}` is switched off here"))


def restore_after_branch(before: Mapping[str, Value], names: dict[str, Value]) -> None:
    """Undo at the end of a branch what its ranks have switched off for themselves."""
    own = [name for name, value in names.items() if is_own(value) and before.get(name) is not value]
    for name in own:
        if name in before:
            names[name] = before[name]
        else:
            del names[name]


def is_own(value: Value) -> bool:
    """Whether a flag is off on the ranks of a branch only."""
    return isinstance(value.provenance, SwitchedOff)


def _before(block: cst.CSTNode, statement: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """The statements before one in its block."""
    body: Sequence[cst.CSTNode] = block.body if isinstance(block, (cst.IndentedBlock, cst.Module)) else ()
    return body[: body.index(statement)] if body else ()


def _elsewhere(branch: cst.If, taken: cst.CSTNode, before: Sequence[cst.CSTNode]) -> Sequence[cst.CSTNode]:
    """The statements by which the ranks that do not take a branch get there: those of the other one, or before both."""
    other = branch.body if taken is branch.orelse else branch.orelse
    if other is None:
        return before
    suite = other.body if isinstance(other, cst.Else) else other
    return suite.body if isinstance(suite, cst.IndentedBlock) else ()


def _set_in(statements: Sequence[cst.CSTNode], target: cst.Attribute) -> bool | None:
    """Which flag the last of some statements that sets it gives it, unless a block among them may do so."""
    for statement in reversed(statements):
        match statement:
            case cst.SimpleStatementLine(body=[cst.Assign([cst.AssignTarget(each)], value)]):
                if each.deep_equals(target):
                    return _FLAGS.get(value.value) if isinstance(value, cst.Name) else None
            case cst.SimpleStatementLine():
                pass
            case _:
                return None
    return None


_FLAGS = {"True": True, "False": False}
