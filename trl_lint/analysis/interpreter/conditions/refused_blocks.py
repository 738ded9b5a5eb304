"""Blocks that always raise where there are several processes: by design, only a single one runs them to their end.

if args.cached:
    table = net.make_table()               one process: a run with several fails here, and is told so
    if args.distributed:
        raise NotImplementedError("one process only")

if args.cached:
    if args.short: return                  a run with several may have done all that it should
    if args.distributed: raise NotImplementedError

What comes after such a block, in `refused_runs.py`, is run by one process under the same setting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import libcst as cst

from trl_lint.analysis.interpreter.conditions.conditions import truth
from trl_lint.analysis.program.blocks import last_statement
from trl_lint.analysis.program.idioms.path_conditions import EXITS, is_kept, is_lasting
from trl_lint.analysis.program.syntax import last_name, of_class, operands
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import World
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.python import NAMES_OF_ENDS

Evaluate: TypeAlias = Callable[[Frame, cst.BaseExpression], Value]


def refuses_several(frame: Frame, branch: cst.If, evaluate: Evaluate) -> bool:
    """Whether the body of a branch always raises in a run with several processes.

    evaluate: gives the value of a test in it that has not been run yet.
    """
    return any(_asks_for_several(frame, branch, each.test, evaluate) for each in refusals_in(branch.body))


# Asked whenever a branch is run, or comes before one.
@tree_cache(1024)
def refusals_in(body: cst.BaseSuite) -> tuple[cst.If, ...]:
    """The tests directly in a block that raise where they are true, as far as all of them are met."""
    found = list[cst.If]()
    for statement in body.body:
        if isinstance(statement, cst.If) and isinstance(last_statement(statement.body), cst.Raise):
            found.append(statement)
        if _may_leave(statement):
            break
    return tuple(found)


def _may_leave(statement: cst.CSTNode) -> bool:
    """Whether a statement may leave the block around it, or end the process, without an error."""
    leaves = any(of_class(statement, kind) for kind in EXITS)
    return leaves or any(last_name(each.func) in NAMES_OF_ENDS for each in of_class(statement, cst.Call))


def _asks_for_several(frame: Frame, branch: cst.If, test: cst.BaseExpression, evaluate: Evaluate) -> bool:
    """Whether a test in a branch is true where there are several processes, and because of that."""
    value = frame.known_value(test)
    if value is None:
        if not _can_be_asked_before(frame, branch, test):
            return False
        value = evaluate(frame, test)
    return isinstance(value.const, World) and truth(frame, value) is True


def _can_be_asked_before(frame: Frame, branch: cst.If, test: cst.BaseExpression) -> bool:
    """Whether a test in a branch has the same value before it, and asking for that there tells no observer anything."""
    asked = [each for each in operands(test) if isinstance(each, (cst.Attribute, cst.Name))]
    return not of_class(test, cst.Call) and all(
        _is_plain(frame, each) and is_lasting(frame.root, each) and is_kept(frame.root, each, branch) for each in asked
    )


def _is_plain(frame: Frame, asked: cst.Attribute | cst.Name) -> bool:
    """Whether this is a variable that all ranks have, or an attribute of one: `distributed`, `args.distributed`."""
    owner = asked.value if isinstance(asked, cst.Attribute) else asked
    value = frame.memory.names.get(owner.value) if isinstance(owner, cst.Name) else None
    if value is None or value.absence is not None or value.rank.differs:
        return False
    return value.kind in (Kind.UNKNOWN, Kind.INSTANCE, Kind.NUMBER)
