"""Code that never runs on several processes, by the setting under which a program starts them.

if args.gpus > 1 and args.score:
    mp.spawn(work, args=(args,), nprocs=args.gpus)
else:
    work(0, args)                           one process, the first: nothing else gets here
def work(rank, args):
    if args.score: …                        may run on several processes
    else: draw("picture.png")               runs on one
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import Condition, ifs_around, is_bound, outcomes_of_parts
from trl_lint.analysis.program.idioms.path_constraints import is_implied
from trl_lint.analysis.program.syntax import below, definitions_around, holder_name, last_name, names_in, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.process_starts import START_RANKS

_STARTS = START_RANKS | {"Process"}


@tree_cache(64)
def never_started(tree: cst.Module) -> frozenset[int]:
    """The ids of the nodes of a file that only run in a program that has started no processes."""
    starts = [each for each in of_class(tree, cst.Call) if last_name(each.func) in _STARTS]
    known = [list(_settings_of(tree, each)) for each in starts]
    shared = [each for each in known[0] if all(_is_among(each, other) for other in known)] if known else []
    arms = (arm for each in shared for arm in _arms_without(tree, each))
    return frozenset(id(node) for arm in arms for node in below(arm))


def _settings_of(tree: cst.Module, start: cst.Call) -> Iterator[Condition]:
    """The settings with which processes are started, if the other way runs the same function as the first of them."""
    around = definitions_around(tree, start)
    for branch, holds in ifs_around(around[-1] if around else tree, start):
        other = branch.orelse if holds else branch.body
        if other is not None and any(_is_first(each, start) for each in of_class(other, cst.Call)):
            for each in outcomes_of_parts(Condition(branch.test, holds)):
                if _is_setting(each.test) and not is_bound(tree, each.test):
                    yield each


def _is_first(call: cst.Call, start: cst.Call) -> bool:
    """Whether a call runs a function that others are started with, as rank 0."""
    first = call.args[0].value if call.args else None
    is_by_name = isinstance(call.func, cst.Name) and call.func.value in names_in(start)
    return is_by_name and isinstance(first, cst.Integer) and first.value == "0"


def _is_setting(test: cst.BaseExpression) -> bool:
    return isinstance(test, cst.Attribute) and isinstance(test.value, cst.Name)


def _is_among(one: Condition, others: Iterable[Condition]) -> bool:
    return any(one.holds is each.holds and one.test.deep_equals(each.test) for each in others)


def _arms_without(tree: cst.Module, setting: Condition) -> Iterator[cst.CSTNode]:
    """The branches that are not taken with a setting, in the functions that are passed the settings by that name."""
    name = holder_name(setting.test)
    for function in of_class(tree, cst.FunctionDef):
        parameters = (*function.params.params, *function.params.kwonly_params)
        if not any(each.name.value == name for each in parameters) or is_bound(function, cst.Name(name)):
            continue
        for branch in of_class(function.body, cst.If):
            if branch.orelse is not None and is_implied(Condition(branch.test, True), [setting]):
                yield branch.orelse
            elif is_implied(Condition(branch.test, False), [setting]):
                yield branch.body
