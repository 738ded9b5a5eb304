"""Violations at one place become one fix, as safe as the least safe of theirs, and one message."""

from __future__ import annotations

import libcst as cst
import pytest

from trl_lint.analysis.events import Logged
from trl_lint.domain.control import UNIFORM
from trl_lint.domain.values import UNKNOWN
from trl_lint.findings import Applicability
from trl_lint.fixes.support.edits import FixPlan, Replace
from trl_lint.linter.messages import message_of
from trl_lint.linter.rewriting.planning import PlannedFix, combined, fixes_to_apply, planned
from trl_lint.rules import find_rule
from trl_lint.rules.base import Violation

SAFE, UNSAFE, DISPLAY = Applicability
NODE, OTHER = cst.Name("x"), cst.Name("y")
EVENT = Logged(module=None, node=NODE, control=UNIFORM, sink="wandb.Run.log", what="", value=UNKNOWN)


def fix(applicability: Applicability | None, *replaced: tuple[cst.Name, str], metric: str = "a") -> PlannedFix:
    """A fix that replaces nodes by these names; without any it is a hint."""
    plan = FixPlan(tuple(Replace(node, cst.Name(by)) for node, by in replaced)) if replaced else None
    violation = Violation(event=EVENT, message="", metric=metric)
    return PlannedFix(violation=violation, help="", applicability=applicability, plan=plan)


def test_the_least_safe_decides():
    whole = combined([fix(SAFE, (NODE, "p"), metric="a"), fix(UNSAFE, (OTHER, "q"), metric="b")])
    assert whole.applicability is UNSAFE
    assert [each.by.value for each in whole.plan.edits] == ["q", "p"]


def test_what_can_not_be_mended_does_not_keep_the_others_from_it():
    whole = combined([fix(DISPLAY, metric="a"), fix(SAFE, (NODE, "p"), metric="b")])
    assert (whole.applicability, len(whole.plan.edits)) == (SAFE, 1)


def test_a_metric_is_mended_in_all_ways_or_not_at_all():
    parts = [fix(SAFE, (NODE, "p"), metric="a"), fix(DISPLAY, metric="a"), fix(SAFE, (OTHER, "q"), metric="b")]
    assert [each.violation.metric for each in fixes_to_apply(parts)] == ["b"]
    assert [each.by.value for each in combined(parts).plan.edits] == ["q"]


def test_two_fixes_of_one_node_that_differ_are_a_hint():
    whole = combined([fix(SAFE, (NODE, "p")), fix(SAFE, (NODE, "q"))])
    assert (whole.applicability, whole.plan) == (DISPLAY, None)
    assert whole.reason == "it is reached in several ways that need different fixes"


@pytest.mark.parametrize(("by_hand", "applicability"), [("ask its author", DISPLAY), ("", None)])
def test_an_event_that_the_fix_is_not_for_is_left_to_the_author(by_hand, applicability):
    left = planned(find_rule("TRL013"), Violation(event=EVENT, message="", help="do it", by_hand=by_hand))
    assert (left.applicability, left.reason, left.help, left.plan) == (applicability, by_hand, "do it", None)


@pytest.mark.parametrize(
    ("metrics", "start"),
    [
        (["", ""], "the first one"),
        (["a", "", "a"], "the first one"),
        (["a", "b"], "`a`, `b` are computed from this rank's own data and reach `Run.log` unreduced: "),
        (["", "a", "b"], "`a`, `b` are computed"),
        ([*"abcdef"], "`a`, `b`, `c`, `d`, `e`, … are computed"),
    ],
)
def test_a_message_names_all_metrics(metrics, start):
    found = [Violation(event=EVENT, message="the first one", metric=metric) for metric in metrics]
    assert message_of(find_rule("TRL003"), found[0], found).startswith(start)
    assert message_of(find_rule("TRL011"), found[0], found) == "the first one"
