"""The fix for rows that are dealt twice: the loader shuffles, and `prepare` deals its batches."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.data_events import DealtTwice
from trl_lint.analysis.program.syntax import below
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.blocks import own_line
from trl_lint.fixes.support.edits import Drop, FixPlan, NoFix, Replace
from trl_lint.fixes.support.node_types import Scope
from trl_lint.fixes.support.scope import names_spelled, scope_of, sole_binding
from trl_lint.fixes.support.tree import has_comment, keyword_of
from trl_lint.knowledge.torch_distributed import SHUFFLES

_CHANGES = "it changes which rows each rank is trained on, and how many steps an epoch has"
_SAMPLER, _SHUFFLE = "sampler", SHUFFLES[1]
_NOT_HERE = "which of the two is to deal the rows is for the author to say"
_OTHERWISE = "the sampler says more than whether it shuffles"
_USED = "the sampler is used elsewhere"
# What `prepare`, and a loader without a sampler, do by themselves.
_GIVEN = frozenset({"dataset", "num_replicas", "rank", _SHUFFLE})


class DoubleShardedDataFix(RuleFix[DealtTwice]):
    title = "Let the loader shuffle, without a sampler"
    is_collective = False
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: DealtTwice) -> FixPlan | NoFix:
        """The plan to give the loader `shuffle` instead of the sampler, or why that is left to the author."""
        loader, sampler = event.loader, event.sampler
        if loader is None or sampler is None or "prepare" not in event.again:
            return NoFix(_NOT_HERE)
        shuffle = _shuffle_of(sampler)
        if shuffle is None or any(each.star for each in loader.args) or has_comment(loader):
            return NoFix(_OTHERWISE)
        given = {keyword_of(each): each for each in loader.args}
        argument, shuffles = given.get(_SAMPLER), given.get(_SHUFFLE)
        if argument is None or not _is_of_same_rows(loader, sampler):
            return NoFix(_OTHERWISE)
        root = scope_of(event.function, event.module)
        if shuffles is not None and not _is_off(shuffles, argument.value):
            return NoFix("the loader is told whether to shuffle as well")
        dropped = _drop(root, argument.value, loader)
        if isinstance(dropped, NoFix):
            return dropped
        return FixPlan((Replace(loader, _with_shuffle(loader, argument, shuffle)), *dropped), caution=_CHANGES)


def _shuffle_of(sampler: cst.Call) -> cst.BaseExpression | None:
    """Whether a sampler shuffles, as an expression; None if it is told more than that, and who has which rank."""
    places = [each for each in sampler.args if not each.keyword]
    names = {keyword_of(each) for each in sampler.args if each.keyword}
    if any(each.star for each in sampler.args) or len(places) > SHUFFLES[0] + 1 or not names <= _GIVEN:
        return None
    given = [each.value for each in sampler.args if keyword_of(each) == _SHUFFLE]
    given += [each.value for each in places[SHUFFLES[0] :]]
    return given[0] if given else cst.Name("True")


def _is_of_same_rows(loader: cst.Call, sampler: cst.Call) -> bool:
    """Whether a sampler is made for the rows that the loader gives."""
    loaded, sampled = (
        next((each.value for each in call.args if keyword_of(each) in ("", "dataset")), None)
        for call in (loader, sampler)
    )
    return loaded is not None and sampled is not None and loaded.deep_equals(sampled)


def _is_off(shuffle: cst.Arg, sampler: cst.BaseExpression) -> bool:
    """Whether a loader is told not to shuffle where it has a sampler: `shuffle=False`, `shuffle=(sampler is None)`."""
    if isinstance(shuffle.value, cst.Name):
        return shuffle.value.value == "False"
    match shuffle.value:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=cst.Is())]):
            return left.deep_equals(sampler)
    return False


def _with_shuffle(loader: cst.Call, sampler: cst.Arg, shuffle: cst.BaseExpression) -> cst.Call:
    args = [each for each in loader.args if keyword_of(each) != _SHUFFLE]
    changed = sampler.with_changes(keyword=cst.Name(_SHUFFLE), value=shuffle)
    args = [changed if each is sampler else each for each in args]
    if args[-1] is not loader.args[-1]:
        args[-1] = args[-1].with_changes(comma=loader.args[-1].comma)
    return loader.with_changes(args=args)


def _drop(root: Scope, sampler: cst.BaseExpression, loader: cst.Call) -> tuple[Drop, ...] | NoFix:
    """The edit that removes the line that makes a sampler, which nothing else may use."""
    if not isinstance(sampler, cst.Name):
        return ()
    bound = sole_binding(root, sampler)
    line = None if bound is None else own_line(root, bound.assign)
    inside = set(map(id, below(loader)))
    others = [each for each in names_spelled(root, sampler.value) if id(each) not in inside]
    if bound is None or line is None or any(each is not bound.name for each in others):
        return NoFix(_USED)
    if has_comment(line.statement) or len(line.siblings) < 2 or not isinstance(root, cst.FunctionDef):
        return NoFix("the line that makes the sampler has to be removed by hand")
    return (Drop(line.statement, sampler.value, root),)
