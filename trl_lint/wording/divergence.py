"""Texts about ranks that diverge: which of them do not reach a call, and where that is decided.

The finding is at the code that has to change: the call that only some ranks reach, or the `return`, `continue` or
`break` by which some leave before it. The condition may be many lines above that statement, so the message names it,
and its place is in the chain.
"""

from __future__ import annotations

from trl_lint.analysis.events import Divergence
from trl_lint.domain.control import Uniformity
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.provenance import Step
from trl_lint.domain.sync_points import place_of
from trl_lint.knowledge.lightning import AUTOMATIC_BACKWARD
from trl_lint.wording.shown_code import shown_source, source_of

# Descriptions of the ranks that leave, or that make the call.
_ON_SOME = {
    DividedBy.EXCEPTION: "ranks where the `try` fails",
    DividedBy.DECORATOR: "ranks on which the decorator runs it",
}
# The label at the finding's place, if it is shown together with the condition.
_HERE = {
    DividedBy.LOOP: "ranks get here a different number of times",
    DividedBy.SHARE: "some ranks may get here more often than others",
    DividedBy.SEQUENTIAL: "ranks get here one after the other",
}


def here(event: Divergence) -> str:
    """The effect of the divergence at the place of the finding, in a few words."""
    if _stays_in_loop(event):
        return "some ranks stay in the loop here"
    if event.exit:
        return "some ranks may leave here" if event.may_stay else "some ranks leave here"
    return _HERE.get(event.by, "only some ranks get here")


def missed(event: Divergence, call: str) -> str:
    """Which ranks do not reach a call at which the others wait."""
    if event.by is DividedBy.LOOP:
        return f"{call} is in a loop {_loop(event)}, which runs a different number of times on each rank"
    if event.by is DividedBy.SHARE:
        return f"{call} is in a loop {_loop(event)}, of which some ranks may have more than others"
    if not event.after:
        return f"only {_ranks(event)} reach {call}"
    if _stays_in_loop(event):
        return f"{_ranks(event)} `continue` here, past an exit from the loop, and reach {call} once more"
    if event.exit:
        if event.may_stay:
            return f"{_ranks(event)} may `{event.exit}` here and not reach {call}"
        return f"{_ranks(event)} `{event.exit}` here and do not reach {call}"
    return f"{_ranks(event)} do not reach {call}"


def waiting(event: Divergence) -> str:
    """Which ranks wait for which, if some ranks miss a call."""
    if event.after:
        return "they wait for the others" if _stays_in_loop(event) else "the others wait for them"
    return "some wait for the others" if event.by.is_loop else "they wait for the others"


def chain(event: Divergence) -> Step | None:
    """The condition on which ranks diverge, then the call that some of them miss."""
    found: Step | None = event.condition
    if event.after:
        found = Step(event.module, event.sync_point.node, _call_of_others(event), found)
    via = event.sync_point.via
    while via is not None:
        found = Step(via.module, via.node, via.text, found)
        via = via.before
    return found


def _call_of_others(event: Divergence) -> str:
    """What happens at the call that some ranks miss."""
    if _stays_in_loop(event):
        return "they call it here again"
    if event.sync_point.name == AUTOMATIC_BACKWARD:
        return "the other ranks return a loss here, from which Lightning starts the backward pass"
    return "the other ranks call it here"


def _loop(event: Divergence) -> str:
    """What a loop goes through, or runs on."""
    from libcst import While

    from trl_lint.analysis.program.syntax import ancestors

    condition = event.condition
    around = ancestors(condition.module.tree, condition.node)
    return f"{'with' if around and isinstance(around[-1], While) else 'over'} `{source_of(condition)}`"


def _stays_in_loop(event: Divergence) -> bool:
    """Whether ranks that `continue` skip an exit from the loop: the call is above, and made in the next iteration."""
    if event.exit != "continue" or event.may_stay or event.caught:
        return False
    from trl_lint.analysis.program.syntax import precedes

    root = event.module.tree if event.function is None else event.function.node
    return precedes(root, event.sync_point.node, event.node)


def _ranks(event: Divergence) -> str:
    if event.by in _ON_SOME:
        return _ON_SOME[event.by]
    if event.by is DividedBy.CASE:
        return f"ranks that {'fit' if event.holds else 'do not fit'} `case {source_of(event.condition)}`"
    tests = [*_around(event), (source_of(event.condition), event.holds)]
    if len({holds for _, holds in tests}) > 1:
        return "ranks where " + " and ".join(f"`{test}` is {_outcome(holds)}" for test, holds in tests)
    listed = " and ".join(f"`{test}`" for test, _ in tests)
    return f"ranks where {listed} {'are' if len(tests) > 1 else 'is'} {_outcome(event.holds)}"


def _outcome(holds: bool) -> str:
    return "true" if holds else "false"


def _around(event: Divergence) -> list[tuple[str, bool]]:
    """The tests around the condition of a call that differ between ranks as well, and which result they have there."""
    if event.after or event.by is not DividedBy.CONDITION or event.condition.module is not event.module:
        return []
    from trl_lint.analysis.program.idioms.path_conditions import ifs_around

    conditions = event.sync_point.control.conditions
    differing = {id(place_of(each)) for each in conditions if each.uniformity is Uniformity.DIVERGENT}
    root = event.module.tree if event.function is None else event.function.node
    around = ifs_around(root, event.condition.node)
    return [(shown_source(event.module, each.test), holds) for each, holds in around if id(each.test) in differing]
