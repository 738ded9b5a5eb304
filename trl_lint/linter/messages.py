"""The texts of a finding: its message, its help, and the steps that explain it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trl_lint.linter import upstream
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import source_of

if TYPE_CHECKING:
    from libcst import FunctionDef

    from trl_lint.domain.provenance import Step


def message_of(rule: Rule[Any], violation: Violation, violations: Sequence[Violation]) -> str:
    """The message of the violation that represents those at one place, with the metrics of all of them."""
    metrics = list(dict.fromkeys(each.metric for each in violations if each.metric))
    return violation.message if len(metrics) < 2 else rule.message_for(violation, metrics)


def help_of(rule: Rule[Any], violation: Violation, text: str, places: Mapping[Any, Any]) -> str:
    """How to fix it; in a copy of a released trainer, also which release has the fix."""
    # Where a function ends is only worked out for one that has a name of theirs.
    functions = [each for each in _functions_around(violation) if each.name.value in upstream.names(rule.code)]
    if not functions:
        return text
    line = places[violation.node].start.line
    lines = ((places[each.name].start.line, places[each].end.line) for each in functions)
    row = upstream.fixed_release(rule.code, violation.module.text, lines, line)
    if row is None:
        return text
    known_fix = f"this is `{row.symbol}` as in trl up to {row.last}; {row.fixed} fixed it ({row.pull})"
    return f"{text}; {known_fix}" if text else known_fix


def _functions_around(violation: Violation) -> Iterator[FunctionDef]:
    """The functions around a violation, the innermost first."""
    from libcst import FunctionDef

    from trl_lint.analysis.program.syntax import definitions_around

    around = reversed(definitions_around(violation.module.tree, violation.node))
    return (each for each in around if isinstance(each, FunctionDef))


def text_of(step: Step) -> str:
    """The text of a step, with `{}` replaced by the source of its node on one line."""
    return step.text.replace("{}", source_of(step)) if "{}" in step.text else step.text
