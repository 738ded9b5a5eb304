"""Learning rates that a Trainer's hooks set on some ranks only, or on each rank by something of its own.

Events of a `TrainerCallback`, which all ranks call, with `group` of `optimizer.param_groups`:

    if state.is_world_process_zero: group["lr"] *= 0.5    RateSet: the others go on with the rate that they have
    if logs["loss"] > 3: group["lr"] *= 0.5               none: what the Trainer logs is the same on all ranks
    if os.path.exists("halve"): group["lr"] *= 0.5        none: the ranks may share the folder, as they do a seed
    group["lr"] = base / loss_of_rank                     RateSet, by its value

None if the function sets a rate elsewhere, too, as in the other branch, or may send it: `share(optimizer)`.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.gradient_events import RateSet
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.syntax import ancestors, below, is_super, last_name, names_in, of_class
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import place_of
from trl_lint.knowledge.heuristics import OPTIMIZER_OBJECT
from trl_lint.knowledge.models import LEAVE_GRADIENTS
from trl_lint.knowledge.schedules import CALL_HOOKS, GROUPS, RATE, SEND_RATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control
    from trl_lint.domain.ranks import Rank


_MAY_BE_ALIKE = Origin.IO | Origin.MEMORY | Origin.RNG


class RatesOfSome(Observer["Frame"]):
    emits = frozenset({RateSet})
    statements = (cst.Assign, cst.AugAssign)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        if not _sets_rate(frame.root, statement) or not _is_in_hook(frame) or _is_set_elsewhere(frame, statement):
            return
        for condition in frame.memory.control.conditions:
            test = place_of(condition)
            if isinstance(test, cst.BaseExpression) and _tells_apart(condition.rank):
                frame.emit(RateSet, statement, decided_by=condition.provenance, test=test)
                return
        value = frame.known_value(statement.value) if isinstance(statement, (cst.Assign, cst.AugAssign)) else None
        if value is not None and value.rank.differs and value.rank.is_of_own_data:
            frame.emit(RateSet, statement, decided_by=value.provenance)


def _tells_apart(rank: Rank) -> bool:
    """Whether something differs between ranks for more than what they find in a folder or draw, which may be alike."""
    return rank.differs and bool(rank.origins & ~_MAY_BE_ALIKE)


def _sets_rate(root: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Whether a statement sets the rate of a group of an optimizer's parameters."""
    return any(_is_rate(root, statement, target) for target in _targets(statement))


def _targets(statement: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    match statement:
        case cst.AugAssign(target=target):
            yield target
        case cst.Assign(targets=targets):
            yield from (each.target for each in targets)


def _is_rate(root: cst.CSTNode, statement: cst.CSTNode, target: cst.BaseExpression) -> bool:
    match target:
        case cst.Subscript(
            value=group,
            slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString(evaluated_value=key)))],
        ) if key == RATE:
            return GROUPS in names_in(group) or _is_group(root, statement, group)
    return False


def _is_group(root: cst.CSTNode, statement: cst.CSTNode, group: cst.BaseExpression) -> bool:
    """Whether an expression is the variable of a loop over the groups of an optimizer."""
    loops = (each for each in ancestors(root, statement) if isinstance(each, cst.For))
    return isinstance(group, cst.Name) and any(
        group.value in names_in(each.target) and GROUPS in names_in(each.iter) for each in loops
    )


def _is_in_hook(frame: Frame) -> bool:
    """Whether a library calls the method around on all ranks."""
    cls, function = frame.cls, frame.function
    if cls is None or function is None or is_test(function):
        return False
    return any(frame.engine.is_subclass(cls, each) for each in CALL_HOOKS)


def _is_set_elsewhere(frame: Frame, statement: cst.CSTNode) -> bool:
    """Whether the other ranks may get the same rate: the function sets one elsewhere, or sends something."""
    root = frame.root
    others = (each for each in below(root) if each is not statement and isinstance(each, (cst.Assign, cst.AugAssign)))
    if not SEND_RATES.isdisjoint(names_in(root)) or any(_sets_rate(root, each) for each in others):
        return True
    return any(map(_gets_optimizer, of_class(root, cst.Call)))


def _gets_optimizer(call: cst.Call) -> bool:
    """Whether a call passes on the optimizer, or its groups, to what may send their rates: not to `super()`."""
    name = last_name(call.func)
    if isinstance(call.func, cst.Attribute) and is_super(call.func.value):
        return False
    if name in LEAVE_GRADIENTS or hasattr(builtins, name):
        return False
    passed = [last_name(each.value) for each in call.args]
    return GROUPS in passed or any(map(OPTIMIZER_OBJECT.fits, passed))


OBSERVER = RatesOfSome()
