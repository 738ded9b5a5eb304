"""Locate violations: give each its place in a file and turn it into a finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from trl_lint.domain.provenance import OnlyAnnotated, Returned, SourceModule, source_step, steps
from trl_lint.findings import Consequence, Edit, Finding, Fix, Guard, Note, Position
from trl_lint.linter.deep_stack import deeply
from trl_lint.linter.messages import help_of, message_of, text_of
from trl_lint.linter.positions import Positions
from trl_lint.linter.rewriting.planning import PlannedFix, combined, planned
from trl_lint.rules.base import BaseRule, Rule, Violation

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.domain.provenance import Step

# The range of every node of a file.
_Ranges = Mapping[Any, Any]
_Places = dict[Any, _Ranges]
RuleViolation = tuple[Rule[Any], Violation]


@dataclass(frozen=True, slots=True)
class LocatedViolation:
    """A finding together with what is needed to fix it.

    `fix` combines `parts`, the fixes of the violations at one place. It may fix only some of them.
    """

    finding: Finding
    rule: Rule[Any]
    fix: PlannedFix
    parts: tuple[PlannedFix, ...]

    @property
    def violation(self) -> Violation:
        return self.fix.violation

    def only_if_asked_for(self) -> LocatedViolation:
        """The same violation, outside the default set."""
        return replace(self, finding=replace(self.finding, by_default=False))


def located(module: Module, found: Sequence[RuleViolation]) -> list[LocatedViolation]:
    """Locate violations; one finding per place and rule."""
    groups: dict[tuple[str, int], tuple[Rule[Any], list[Violation]]] = {}
    for rule, violation in found:
        groups.setdefault((rule.code, id(violation.node)), (rule, []))[1].append(violation)
    places: _Places = {module: positions(module)}
    done = [_located(places, rule, _without_doubt(rule, violations)) for rule, violations in groups.values()]
    return sorted(done, key=lambda each: each.finding.sort_key)


def _without_doubt(rule: BaseRule, violations: Sequence[Violation]) -> Sequence[Violation]:
    """The violations at one place, without those that only count where no other is in the default set."""
    clear = [each for each in violations if not each.in_doubt]
    return clear if any(_is_by_default(rule, each) for each in clear) else violations


def positions(module: SourceModule) -> _Ranges:
    """The range of every node; computed only if something is reported."""
    if module.positions is None:
        module.positions = Positions(module.tree, module.text, module.replaced)
    return module.positions


def _located(places: _Places, rule: Rule[Any], violations: Sequence[Violation]) -> LocatedViolation:
    parts = tuple(planned(rule, each) for each in violations)
    fix = combined(parts)
    violation = fix.violation
    here = places[violation.module]
    start = here[violation.node].start
    finding = Finding(
        code=rule.code,
        name=rule.name,
        message=message_of(rule, violation, violations),
        path=str(violation.module.path),
        start=Position(start.line, start.column + 1),
        end=_end(here, violation.node, leaves=violation.branch is not None),
        because=_notes(places, steps(violation.provenance)),
        help=help_of(rule, violation, fix.help, here),
        fix=_fix(places, fix),
        consequence=max((_consequence(rule, each) for each in violations), key=lambda each: each.harm),
        by_default=any(_is_by_default(rule, each) for each in violations),
        branches=_branches(here, violations),
        guard=_guard(places, violation),
    )
    return LocatedViolation(finding, rule, fix, parts)


def _consequence(rule: BaseRule, violation: Violation) -> Consequence:
    return violation.consequence or rule.consequences[0]


def _is_by_default(rule: BaseRule, violation: Violation) -> bool:
    if violation.by_default is None:
        rests_on_annotation = isinstance(source_step(violation.provenance), OnlyAnnotated)
        return _consequence(rule, violation) is not Consequence.WASTE and not rests_on_annotation
    return violation.by_default


def notes_of(chain: Iterable[Step]) -> tuple[Note, ...]:
    """The steps that explain a fact, without those that have no place."""
    return _notes({}, chain)


def _notes(places: _Places, chain: Iterable[Step]) -> tuple[Note, ...]:
    """The steps that explain a violation, or why it is not fixed, without those that have no place."""
    found: dict[Note, None] = {}
    for step in chain:
        if step.module not in places:
            places[step.module] = positions(step.module)
        place = places[step.module].get(step.node)
        if place is not None:
            start = Position(place.start.line, place.start.column + 1)
            found[Note(text_of(step), str(step.module.path), start, isinstance(step, Returned))] = None
    return tuple(found)


def _guard(places: _Places, violation: Violation) -> Guard | None:
    """The condition that keeps ranks away from a violation, if it is not the violation's own place."""
    step = violation.guard
    if step is None or step.node is violation.node:
        return None
    if step.module not in places:
        places[step.module] = positions(step.module)
    ranges = places[step.module]
    place = ranges.get(step.node)
    if place is None:
        return None
    start = Position(place.start.line, place.start.column + 1)
    return Guard(text_of(step), str(step.module.path), start, _end(ranges, step.node), violation.here)


def _branches(places: _Ranges, violations: Sequence[Violation]) -> tuple[Position, ...]:
    """Where some ranks branch off to reach the place of the violations."""
    nodes = {id(each.branch): each.branch for each in violations if each.branch is not None}
    starts = (places[node].start for node in nodes.values())
    return tuple(sorted(Position(start.line, start.column + 1) for start in starts))


def _end(places: _Ranges, node: Any, leaves: bool = False) -> Position:
    """Where a finding ends: at the end of its expression or line, never after the block of a statement.

    leaves: whether it is that some ranks leave there. Of their `return`, only the keyword is marked.
    """
    from libcst import Return

    from trl_lint.analysis.program.syntax import heading

    is_exit = leaves and isinstance(node, Return)
    last = None if is_exit else heading(node)
    if last is None:
        start = places[node].start
        word = "return" if is_exit else "except" if hasattr(node, "type") else "try"
        return Position(start.line, start.column + 1 + len(word))
    return Position(places[last].end.line, places[last].end.column + 1)


def _fix(places: _Places, fix: PlannedFix) -> Fix | None:
    if fix.applicability is None:
        return None
    edits = partial(_edits, fix) if fix.plan is not None else tuple
    return Fix(fix.applicability, fix.title, edits, fix.reason, _notes(places, fix.conditions))


@deeply
def _edits(fix: PlannedFix) -> tuple[Edit, ...]:
    from trl_lint.linter.rewriting.regenerating import written
    from trl_lint.linter.rewriting.text_edits import edits_between, transformed

    return edits_between(written(fix.violation.module).code, transformed([fix]))
