"""Parts of a model that a function freezes after it was wrapped, and before it trains the rest.

For example, after `model = DDP(model)`:

    for p in model.module.body.parameters():           frozen late: DDP waits for the gradients that these had then
        p.requires_grad = False
    for batch in loader: model(batch).mean().backward()

    for p in model.parameters(): p.requires_grad = False     not reported: without any gradient, DDP waits for none

Not if anything is trained again, or wrapped again, before the backward pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.repeated_exits import statements_after
from trl_lint.analysis.program.project.import_lines import codes_of_programs
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assignments,
    below,
    last_name,
    names_in,
    of_class,
    parts_of_target,
    precedes,
)
from trl_lint.analysis.state.callees import function_of
from trl_lint.domain.provenance import steps
from trl_lint.domain.values import Value, Wrapping
from trl_lint.knowledge.heuristics import COMPUTES_GRADIENTS, MAY_FREEZE
from trl_lint.knowledge.models import INNER_MODEL, LIST_PARAMETERS
from trl_lint.knowledge.trained_layers import FREEZES, FREEZES_IN_PLACE, WRAP_IN_DDP

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.provenance import Step

_FLAG = "requires_grad"
_HELD = (Wrapping.MAYBE, Wrapping.UNWRAPPED, Wrapping.WRAPPED)


def frozen_part(statement: cst.CSTNode) -> cst.BaseExpression | None:
    """The module of which a statement freezes all parameters."""
    match statement:
        case cst.Expr(cst.Call(cst.Attribute(value=part, attr=cst.Name(name)), [cst.Arg(cst.Name("False"))])):
            return part if name == FREEZES_IN_PLACE else None
        case cst.For(iter=cst.Call(cst.Attribute(value=part, attr=cst.Name(name)), []), body=body, orelse=None):
            return part if name in LIST_PARAMETERS and _freezes(_only(body)) else None
    return None


def _only(body: cst.BaseSuite) -> cst.CSTNode | None:
    statements = body.body if len(body.body) == 1 else ()
    for each in statements:
        if isinstance(each, cst.SimpleStatementLine):
            return each.body[0] if len(each.body) == 1 else None
        return each
    return None


def _freezes(statement: cst.CSTNode | None) -> bool:
    match statement:
        case cst.Assign([cst.AssignTarget(cst.Attribute(cst.Name(), cst.Name(name)))], cst.Name("False")):
            return name == _FLAG
        case cst.Expr(cst.Call(cst.Attribute(cst.Name(), cst.Name(name)), [cst.Arg(cst.Name("False"))])):
            return name == FREEZES_IN_PLACE
    return False


def wrapped_before(frame: Frame, part: cst.BaseExpression) -> Step | None:
    """Where the model was wrapped of which an expression is a part: `model.module.body`; None if it is not known."""
    is_part = False
    while isinstance(part, cst.Attribute):
        if part.attr.value == INNER_MODEL:
            return _wrapping_step(frame.value_of(part.value)) if is_part else None
        is_part, part = True, part.value
    value = frame.value_of(part) if is_part and isinstance(part, cst.Name) else None
    return _wrapping_step(value) if value is not None and value.wrapping is Wrapping.UNWRAPPED else None


def _wrapping_step(model: Value) -> Step | None:
    if model.wrapping not in _HELD:
        return None
    made = (each for each in steps(model.provenance) if isinstance(each.node, cst.Call))
    return next((each for each in made if last_name(each.node.func) in WRAP_IN_DDP), None)  # type: ignore[attr-defined]


def may_be_frozen_before(frame: Frame, wrapping: cst.CSTNode) -> bool:
    """Whether the parts of a model may be frozen already as it is wrapped: by the function, or by another file."""
    root, project, here = frame.root, frame.engine.project, frame.module.path
    if any(_may_freeze(each) for each in below(root) if precedes(root, each, wrapping)):
        return True
    codes = codes_of_programs(project, here)
    if codes is None:
        return True
    others = [code for path, code in codes.items() if path != here]
    own = () if root is frame.module.tree else _around(frame.module.tree, root)
    if any(_may_freeze(each) and not _runs_later(frame, each, wrapping, others) for each in own):
        return True
    return any(_FREEZES.search(code) for code in others)


def _around(tree: cst.Module, function: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What is in a file besides one of its functions."""
    inside = set(map(id, below(function)))
    return (each for each in below(tree) if id(each) not in inside)


def _runs_later(frame: Frame, freezing: cst.CSTNode, wrapping: cst.CSTNode, others: Iterable[bytes]) -> bool:
    """Whether what freezes is in a function that is only named behind a call, in the function of that: `thaw(net, 1)`.

    others: the code of other files, which may not name it.
    """
    root, tree = frame.root, frame.module.tree
    function = next((each for each in ancestors(tree, freezing) if isinstance(each, cst.FunctionDef)), None)
    if function is None or any(isinstance(each, LOOPS) for each in ancestors(root, wrapping)):
        return False
    name = function.name.value
    inside = set(map(id, of_class(function, cst.Name)))
    named = [each for each in of_class(tree, cst.Name) if each.value == name and id(each) not in inside]
    if not named or any(name.encode() in code for code in others):
        return False
    return all(precedes(root, wrapping, each) for each in named)


def _may_freeze(node: cst.CSTNode) -> bool:
    """Whether a statement or call may freeze something: by a flag that is not True, or a function named so."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(cst.Attribute(attr=cst.Name(name)))], value=value):
            return name == _FLAG and not _is_true(value)
        case cst.Call(func=func, args=args):
            is_flag = last_name(func) == FREEZES_IN_PLACE
            return not all(_is_true(each.value) for each in args) if is_flag else MAY_FREEZE.fits(last_name(func))
        case cst.SimpleString():
            return node.raw_value == _FLAG
    return False


def _is_true(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Name) and value.value == "True"


_FREEZES = re.compile(FREEZES)


def is_trained_next(frame: Frame, statement: cst.CSTNode, wrapping: cst.CSTNode) -> bool:
    """Whether a backward pass of what was wrapped follows a statement in its function.

    And before that nothing is trained or wrapped again.
    """
    models = _names_of(frame.root, wrapping)
    is_run = not models
    for each in _following(frame.root, statement):
        if _may_change_it(each, models) or _leaves(each):
            return False
        is_run = is_run or any(_is_given(call, models) for call in of_class(each, cst.Call))
        if _trains(frame, each):
            return is_run or any("self" in names_in(call.func) for call in of_class(each, cst.Call))
    return False


def _names_of(root: cst.CSTNode, wrapping: cst.CSTNode) -> set[str]:
    """The names that a function gives what a call has wrapped; none if another function calls it."""
    targets = [target for target, value in assignments(root) if any(each is wrapping for each in below(value))]
    return {last_name(part) for each in targets for part in parts_of_target(each)} - {""}


def _is_given(call: cst.Call, models: set[str]) -> bool:
    """Whether a call runs a model, or gets it."""
    return last_name(call.func) in models or any(last_name(each.value) in models for each in call.args)


def _leaves(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[-1], (cst.Raise, cst.Return))


def _may_change_it(statement: cst.CSTNode, models: set[str]) -> bool:
    """Whether a statement may train parameters again, or wrap a model, or give its name to another."""
    names = {last_name(call.func) for call in of_class(statement, cst.Call)}
    if not names.isdisjoint(_SWITCH) or any(map(MAY_FREEZE.fits, names)):
        return True
    return any(last_name(target) in {_FLAG, *models} for target, _ in assignments(statement))


_SWITCH = WRAP_IN_DDP | {FREEZES_IN_PLACE}


def _following(root: cst.CSTNode, statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements after one in its block, then those after that block in the one around it, and so on."""
    for each in (statement, *reversed(ancestors(root, statement))):
        yield from statements_after(root, each)


def _trains(frame: Frame, statement: cst.CSTNode) -> bool:
    calls = of_class(statement, cst.Call)
    if any(COMPUTES_GRADIENTS.fits(last_name(each.func)) for each in calls):
        return True
    called = (function_of(frame, each.func) for each in calls if isinstance(each.func, (cst.Attribute, cst.Name)))
    return any(each is not None and any(map(COMPUTES_GRADIENTS.fits, names_in(each.node))) for each in called)
