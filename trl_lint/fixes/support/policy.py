"""The applicability of fixes: the only place where it is decided."""

from __future__ import annotations

from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.provenance import Step
from trl_lint.findings import Applicability
from trl_lint.fixes.support.edits import FixPlan, NoFix

NOT_KNOWN = "it is not known whether all ranks get here together"
DIVERGENT = "some ranks may not get here"
_BY_UNIFORMITY = {
    Uniformity.UNIFORM: (Applicability.SAFE, ""),
    Uniformity.UNKNOWN: (Applicability.UNSAFE, NOT_KNOWN),
    Uniformity.DIVERGENT: (Applicability.DISPLAY, DIVERGENT),
}


def conditions_with(control: Control, uniformity: Uniformity) -> tuple[Step, ...]:
    """The conditions because of which ranks may not, or are not known to, reach a point together."""
    return tuple(
        each.provenance for each in control.conditions if each.uniformity is uniformity and each.provenance is not None
    )


def conditions_of(plan: FixPlan | NoFix, control: Control, uniformity: Uniformity) -> tuple[Step, ...]:
    """The places because of which a plan is not safer; see `trust`."""
    if isinstance(plan, NoFix) or uniformity is Uniformity.UNIFORM:
        return plan.conditions
    return conditions_with(control, uniformity)


def trust(
    plan: FixPlan | NoFix, uniformity: Uniformity = Uniformity.UNIFORM, communication: str = ""
) -> tuple[Applicability, str]:
    """The applicability of a plan, and why it is not higher ("" if it is safe).

    uniformity: that of the place of its collective; uniform for a plan without one. communication: why the plan
    communicates, if that is not obvious.
    """
    if isinstance(plan, NoFix):
        return Applicability.DISPLAY, plan.reason
    applicability, reason = _BY_UNIFORMITY[uniformity]
    if applicability is Applicability.DISPLAY:
        return applicability, f"{reason}, and {communication}" if communication else reason
    if plan.caution and applicability is Applicability.SAFE:
        return Applicability.UNSAFE, plan.caution
    return applicability, reason
