"""Merge findings that have the same cause, whether at several places or from several rules.

    device = f"cuda:{dist.get_rank()}"              TRL011
    model.to(device)                                the same rank: reported with the first

    gather_for_metrics(ratio).mean()                TRL007, whose range contains the call that TRL014 is about

A comment silences what is on its line, and not what has the same cause on another one: these are merged apart.

Fixes are still planned finding by finding; merging is for the reader.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from trl_lint.findings import Finding, Related
from trl_lint.linter.comments.suppressions import split
from trl_lint.linter.locate import LocatedViolation


def one_per_cause(found: Sequence[LocatedViolation], source: bytes) -> list[LocatedViolation]:
    """The findings in the same order, each merged with the others that have its cause.

    source: the text in which they are.
    """
    if len(found) < 2:
        return list(found)
    silenced = set(split([each.finding for each in found], source)[1])
    first: dict[Hashable, int] = {}
    groups: dict[int, list[LocatedViolation]] = {}
    covering: dict[str, list[tuple[int, LocatedViolation]]] = {}
    for number, each in enumerate(found):
        for code in each.rule.covers:
            covering.setdefault(code, []).append((number, each))
    for number, each in enumerate(found):
        covered_by = covering.get(each.rule.code, ())
        is_silenced = each.finding in silenced
        groups.setdefault(_representative(number, each, covered_by, first, is_silenced), []).append(each)
    return [_merged(*groups[number]) for number in sorted(groups)]


def _representative(
    number: int,
    each: LocatedViolation,
    covering: Sequence[tuple[int, LocatedViolation]],
    first: dict[Hashable, int],
    is_silenced: bool,
) -> int:
    """The number of the finding that represents this one: usually its own.

    covering: the numbered findings of rules that cover its rule.
    """
    if each.violation.cause is not None:
        return first.setdefault((each.rule.code, each.violation.cause, is_silenced), number)
    return next((other for other, one in covering if _is_inside(each, one)), number)


def _is_inside(other: LocatedViolation, one: LocatedViolation) -> bool:
    here, there = one.finding, other.finding
    return here.start <= there.start and there.end <= here.end


def _merged(representative: LocatedViolation, *others: LocatedViolation) -> LocatedViolation:
    if not others:
        return representative
    also = (*representative.finding.also, *(_related(each.finding) for each in others))
    by_default = any(each.finding.by_default for each in (representative, *others))
    parts = tuple(part for each in (representative, *others) for part in each.parts)
    return replace(
        representative, finding=replace(representative.finding, also=also, by_default=by_default), parts=parts
    )


def _related(finding: Finding) -> Related:
    return Related(finding.code, finding.message, finding.path, finding.start)
