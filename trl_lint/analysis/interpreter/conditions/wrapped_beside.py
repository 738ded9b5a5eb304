"""Models that one branch wraps under another name: a forward of the model itself bypasses that wrapper.

For example:

    raw = model
    if args.distributed:
        model = DDP(model)
        raw = model.module                          UNWRAPPED
    raw(batch).mean().backward()                    UNWRAPPED, though bare without `distributed`
    if not args.distributed:
        raw(batch).mean().backward()                BARE
    ddp = DDP(net) if args.distributed else None    net: UNWRAPPED
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import libcst as cst

from trl_lint.analysis.interpreter.conditions.tested_names import names_tested
from trl_lint.analysis.interpreter.conditions.wrapping_tests import without_not
from trl_lint.analysis.program.syntax import below
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import LibraryInstance
from trl_lint.domain.provenance import RequiredOutcome, WrappedWhere, steps
from trl_lint.domain.values import Kind, Value, Wrapping

_Key = TypeVar("_Key", bound=Hashable)


def inside_wrappers(
    frame: Frame, branch: cst.If | cst.IfExp, if_true: Mapping[_Key, Value], if_false: Mapping[_Key, Value]
) -> dict[_Key, Value]:
    """What is inside a wrapper that one branch creates, by what holds it, and bare at the end of the other branch."""
    found: dict[_Key, Value] = {}
    for key, value in if_true.items():
        other = if_false.get(key, value)
        for inner, bare in ((value, other), (other, value)):
            if _is_inside(inner) and _is_bare(bare) and _is_wrapped_in(branch, inner):
                found[key] = _under_condition(frame, branch, inner, inner is value)
    return found


def of_choice(
    frame: Frame, choice: cst.IfExp, before: Mapping[str, Value], ends: Sequence[Mapping[str, Value]]
) -> dict[str, Value]:
    """The same of a choice between two expressions. ends: the names after those of the two that may be evaluated."""
    changed = {name for each in ends for name, value in each.items() if before.get(name) is not value}
    models = {name for name in changed if any(name in each and _is_inside(each[name]) for each in ends)}
    if not models:
        return {}
    if len(ends) == 1:
        return {name: ends[0][name] for name in models if _is_wrapped_in(choice, ends[0][name])}
    if_true, if_false = ({name: each[name] for name in models if name in each} for each in ends)
    return inside_wrappers(frame, choice, if_true, if_false)


def _is_inside(value: Value) -> bool:
    return value.wrapping is Wrapping.UNWRAPPED


def _under_condition(frame: Frame, branch: cst.If | cst.IfExp, inner: Value, outcome: bool) -> Value:
    test, is_true = without_not(branch.test, outcome)
    names = names_tested(frame, test)
    provenance = WrappedWhere(
        frame.module,
        test,
        "whether it is wrapped depends on `{}`",
        inner.provenance,
        names=names,
        function=frame.function,
        outcomes=(RequiredOutcome(test, is_true, names),),
    )
    frame.engine.wraps_on_one_path = True
    frame.engine.note_stored("wraps on one way")
    return inner.replace(provenance=provenance)


def _is_bare(value: Value) -> bool:
    """Whether it is a bare model, which may be a library's layer, or nothing is known of it."""
    if value.kind is Kind.MODEL:
        return value.wrapping is Wrapping.BARE
    return type(value) is Value or isinstance(value, LibraryInstance)


def _is_wrapped_in(branch: cst.If | cst.IfExp, inner: Value) -> bool:
    wrapping = {id(step.node) for step in steps(inner.provenance) if isinstance(step.node, cst.Call)}
    return any(id(each) in wrapping for each in below(branch))
