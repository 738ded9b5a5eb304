"""Optimizer steps right after a backward pass whose gradients `no_sync()` keeps from being reduced.

    with model.no_sync():                                   the step takes gradients of this rank's own
        loss.backward()
    optimizer.step()
    with model.no_sync() if more else nullcontext():        it does not: it comes after the last batch of several
        loss.backward()
    if not more: optimizer.step()
    with model.no_sync() if last else nullcontext():        it does: the other way round
        loss.backward()
    if last: optimizer.step()
    for index in range(count):                              nor here, as it is off in the last turn
        with model.no_sync() if index < count - 1 else nullcontext():
            loss.backward()
    optimizer.step()

DDP reduces what has been added up once a backward pass runs outside of `no_sync()`. So it is the last one before a step
that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.idioms.hand_reduction import CodeOf
from trl_lint.analysis.program.idioms.last_turns import holds_in_last_turn
from trl_lint.analysis.program.idioms.path_conditions import (
    Condition,
    are_in_opposite_branches,
    bindings,
    ifs_around,
)
from trl_lint.analysis.program.idioms.path_constraints import constraints_on_path, is_implied
from trl_lint.analysis.program.idioms.possible_reductions import may_reduce
from trl_lint.analysis.program.idioms.stepped_models import is_step, stepped
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    keyword_value,
    last_name,
    of_class,
    precedes,
    resolved,
    used_names,
)
from trl_lint.knowledge.heuristics import OPTIMIZER_OBJECT
from trl_lint.knowledge.models import KEEPS_GRADIENTS, KEEPS_GRADIENTS_OF, KEEPS_IF

_CLOSURE = "closure"


class Kept(NamedTuple):
    """What keeps the gradients of a model, a call of `no_sync()`, and the test that decides; None if it always does.

    when: the test, and the outcome with which gradients are kept.
    """

    by: cst.Call | cst.Attribute
    model: cst.BaseExpression
    when: Condition | None


def kept_by(root: cst.CSTNode, item: cst.BaseExpression) -> Kept | None:
    """What a `with` statement enters, if that keeps gradients: `model.no_sync() if more else nullcontext()`."""
    match item:
        case cst.Call() if last_name(item.func) in (KEEPS_GRADIENTS, KEEPS_GRADIENTS_OF):
            enabled = keyword_value(item, KEEPS_IF)
            if enabled is None or (isinstance(enabled, cst.Name) and enabled.value == "True"):
                return Kept(item, _wrapper_of(item), None)
            return Kept(item, _wrapper_of(item), Condition(meant_by(root, enabled), True))
        case cst.IfExp(test=test, body=body, orelse=orelse):
            for holds, each in ((True, body), (False, orelse)):
                found = None if isinstance(each, cst.Name) else kept_by(root, each)  # it may be bound by itself
                if found is not None and found.when is None:
                    return found._replace(when=Condition(meant_by(root, test), holds))
        case cst.Name() if (value := resolved(root, item)) is not item and isinstance(value, cst.IfExp):
            return kept_by(root, value)
    return None


def _wrapper_of(call: cst.Call) -> cst.BaseExpression:
    """The model of `no_sync()`: what is passed to an Accelerator or Fabric, or the owner of the method."""
    owner = call.func.value if isinstance(call.func, cst.Attribute) else call.func
    return call.args[0].value if call.args else owner


def step_with(
    root: cst.CSTNode, statement: cst.CSTNode, calls: Iterable[cst.Call], kept: Kept, code_of: CodeOf
) -> cst.Call | None:
    """The step that an optimizer takes with what the last backward pass has left unreduced.

    statement: the `with` statement, or another one from which on gradients are kept, in the calls. The step may be in a
    function that is called there.
    """
    backwards = [each for each in calls if _may_run_backward(each, code_of)]
    if not backwards:
        return None
    last = backwards[-1]
    if kept.when is None and _takes_whole_step(code_of(last.func)):
        return last
    for call in (each for each in of_class(root, cst.Call) if each is not last and precedes(root, last, each)):
        if _is_passed_closure(call) or may_reduce(call, kept.model, code_of):
            return None
        if is_step(root, call):
            return call if _is_reached_from(root, statement, kept, call) else None
        if _may_run_backward(call, code_of):
            return None
    return None


def _is_passed_closure(call: cst.Call) -> bool:
    """Whether a call is a step that runs a backward pass itself: `optimizer.step(closure)`."""
    passed = [last_name(each.value) for each in call.args] + [last_name(each.keyword) for each in call.args]
    return stepped(call) is not None and _CLOSURE in passed


def _is_backward(call: cst.Call) -> bool:
    return "backward" in last_name(call.func)


def _takes_whole_step(code: cst.CSTNode | None) -> bool:
    """Whether a function runs a backward pass, and an optimizer steps after it."""
    if code is None:
        return False
    calls = of_class(code, cst.Call)
    backward = next((each for each in calls if _is_backward(each)), None)
    return backward is not None and any(is_step(code, each) and precedes(code, backward, each) for each in calls)


def _may_run_backward(call: cst.Call, code_of: CodeOf) -> bool:
    """Whether a call runs a backward pass, as far as its name or its code says: `scaler(loss, optimizer)` may."""
    passed = [last_name(each.value) for each in call.args]
    if any(map(OPTIMIZER_OBJECT.fits, passed)) and any("loss" in each for each in passed):
        return True
    return _runs_backward(call, code_of, set())


def _runs_backward(call: cst.Call, code_of: CodeOf, seen: set[int]) -> bool:
    if _is_backward(call):
        return True
    code = code_of(call.func)
    if code is None or id(code) in seen:
        return False
    seen.add(id(code))
    return any(_runs_backward(each, code_of, seen) for each in of_class(code, cst.Call))


def _is_reached_from(root: cst.CSTNode, statement: cst.CSTNode, kept: Kept, step: cst.Call) -> bool:
    """Whether a step comes after each run of a statement that keeps gradients, or after the last of a loop."""
    if _functions_around(root, statement) != _functions_around(root, step):
        return False
    around = {id(branch) for branch, _ in ifs_around(root, step)}
    if any(id(branch) not in around for branch, _ in ifs_around(root, statement)):
        return False
    if are_in_opposite_branches(root, statement, step) or _is_rebound(root, statement, kept, step):
        return False
    known = [part for each in constraints_on_path(root, step) for part in _parts(root, each)]
    left_by = [each for each in exits_before(root, statement) if each not in list(exits_before(root, step))]
    left = (Condition(each.test, False) for each in left_by)
    if not all(is_implied(part, known) for each in left for part in _parts(root, each)):
        return False
    rounds = [each for each in _loops_around(root, statement) if each not in _loops_around(root, step)]
    if kept.when is None:
        return True
    if rounds:
        return len(rounds) == 1 and isinstance(rounds[0], cst.For) and holds_in_last_turn(rounds[0], kept.when)
    return all(is_implied(part, known) for part in _parts(root, kept.when))


def _is_rebound(root: cst.CSTNode, statement: cst.CSTNode, kept: Kept, step: cst.Call) -> bool:
    """Whether what decides if gradients are kept changes before the step: `more = not more`."""
    asked = set() if kept.when is None else used_names(kept.when.test)
    return any(
        precedes(root, statement, place) and precedes(root, place, step)
        for name in asked
        for place in bindings(root, cst.Name(name))
    )


def _parts(root: cst.CSTNode, known: Condition, within: frozenset[str] = frozenset()) -> Iterator[Condition]:
    """What a condition says, without `not` and `and`, and with what names stand for.

    within: the names that it is part of the value of. One that is bound by itself, `more = more and left`, stands for
    no more than its name there.
    """
    match known.test:
        case cst.UnaryOperation(operator=cst.Not(), expression=denied):
            yield from _parts(root, Condition(denied, not known.holds), within)
        case cst.BooleanOperation(left=left, operator=operator, right=right) if (
            isinstance(operator, cst.And) is known.holds
        ):
            for each in (left, right):
                yield from _parts(root, Condition(each, known.holds), within)
        case cst.Name(name) as test if name not in within and (meant := meant_by(root, test)) is not test:
            yield from _parts(root, Condition(meant, known.holds), within | {name})
        case _:
            yield known


def meant_by(root: cst.CSTNode, test: cst.BaseExpression) -> cst.BaseExpression:
    """What a name stands for in a test: the one value that the innermost loop gives it, or else the function."""
    around = (each.body for each in reversed(_loops_around(root, test)))
    found = (resolved(scope, test) for scope in (*around, root))
    return next((each for each in found if each is not test), test)


def _functions_around(root: cst.CSTNode, node: cst.CSTNode) -> list[cst.CSTNode]:
    return [each for each in ancestors(root, node) if isinstance(each, (cst.FunctionDef, cst.Lambda))]


def _loops_around(root: cst.CSTNode, node: cst.CSTNode) -> list[cst.For | cst.While]:
    return [each for each in ancestors(root, node) if isinstance(each, LOOPS)]
