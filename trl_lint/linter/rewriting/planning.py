"""Plan the fixes of violations from their events, and merge several at one place into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trl_lint.domain.provenance import Step
from trl_lint.findings import Applicability
from trl_lint.fixes import fix_of
from trl_lint.fixes.support.edits import FixPlan, NoFix, merged
from trl_lint.fixes.support.policy import conditions_of, trust
from trl_lint.rules.base import BaseRule, Violation

_CAUTION = [None, Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFix:
    """How to fix a violation.

    Attributes:
        help: How to fix it, for the author.
        applicability: None if there is no fix.
        reason: Why the fix is not safe.
        plan: None if there is only a hint.
        conditions: The places that make it unsafe.
    """

    violation: Violation
    help: str
    applicability: Applicability | None = None
    title: str = ""
    reason: str = ""
    plan: FixPlan | None = None
    conditions: tuple[Step, ...] = ()


def planned(rule: BaseRule, violation: Violation) -> PlannedFix:
    """The fix of a rule's violation."""
    fix, event = fix_of(rule.fix_module), violation.event
    if fix is None or type(event) not in fix.events:
        return _left_to_author(violation)
    plan = fix.plan(event)
    uniformity = fix.uniformity(event)
    applicability, reason = trust(plan, uniformity, fix.communication)
    return PlannedFix(
        violation=violation,
        help=(isinstance(plan, NoFix) and plan.help) or violation.help,
        applicability=applicability,
        title=fix.title_for(event),
        reason=reason,
        plan=plan if isinstance(plan, FixPlan) else None,
        conditions=conditions_of(plan, event.control, uniformity),
    )


def _left_to_author(violation: Violation) -> PlannedFix:
    """A hint if the rule gives a reason for one; otherwise only the help text."""
    applicability, reason = trust(NoFix(violation.by_hand)) if violation.by_hand else (None, "")
    return PlannedFix(violation=violation, help=violation.help, applicability=applicability, reason=reason)


def combined(fixes: Sequence[PlannedFix]) -> PlannedFix:
    """One fix for all violations at one place that can be fixed, only as safe as the least safe of them."""
    fixable = fixes_to_apply(fixes)
    worst = max(fixable or fixes, key=lambda each: _CAUTION.index(each.applicability))
    if len(fixable) < 2:
        return worst
    plan = merged(each.plan for each in (worst, *fixable) if each.plan is not None)
    if plan is None:
        applicability, reason = trust(NoFix("it is reached in several ways that need different fixes"))
        return replace(worst, plan=None, applicability=applicability, reason=reason, conditions=())
    return replace(worst, plan=plan)


def fixes_to_apply(fixes: Sequence[PlannedFix]) -> list[PlannedFix]:
    """The fixes that are applied: a metric that is reached in several contexts is fixed in all of them or in none."""
    beyond_help = {each.violation.metric for each in fixes if each.plan is None}
    return [each for each in fixes if each.violation.metric not in beyond_help]
