"""Process groups of a program that raises wherever it starts one: it has never run as several processes.

def set_up(args):
    if args.local_rank == -1 or args.no_cuda: …
    else: dist.init_process_group("nccl")        started only where `args.local_rank != -1`
def main(args):
    set_up(args)
    if args.local_rank != -1:
        raise NotImplementedError                which is always raised there
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import Condition
from trl_lint.analysis.program.idioms.path_constraints import (
    asks_for_lasting,
    constraints_on_path,
    is_implied,
    known_at,
)
from trl_lint.analysis.program.syntax import (
    ancestors,
    definitions_around,
    holder_name,
    of_class,
    operands,
    precedes,
)

# What runs its body for some values only, or may catch what is raised in it.
_OPEN = (cst.For, cst.While, cst.Try, cst.TryStar, cst.With, cst.Lambda)


def is_refused(tree: cst.Module, start: cst.Call) -> bool:
    """Whether wherever a call in a file starts the group, its function, or each caller of that in the file, raises."""
    around = definitions_around(tree, start)
    if not around:
        return False
    function = around[-1]
    if not isinstance(function, cst.FunctionDef) or len(around) > 1:
        return False
    known = list(known_at(function, start))
    if not known:
        return False
    if _raises(function, known):
        return True
    calls = [each for each in of_class(tree, cst.Call) if _is_named(each.func, function.name.value)]
    return bool(calls) and all(_is_refused_by_caller(tree, function, each, known) for each in calls)


def _is_named(callee: cst.BaseExpression, name: str) -> bool:
    return isinstance(callee, cst.Name) and callee.value == name


def _is_refused_by_caller(
    tree: cst.Module, function: cst.FunctionDef, call: cst.Call, known: Sequence[Condition]
) -> bool:
    """Whether the function around a call raises where what is known in the called one holds."""
    around = definitions_around(tree, call)
    if len(around) != 1 or not isinstance(around[0], cst.FunctionDef):
        return False
    parameters = {each.name.value for each in (*function.params.params, *function.params.kwonly_params)}
    given = {each.value.value for each in call.args if isinstance(each.value, cst.Name)}
    passed = [each for each in known if not (_names_in(each.test) & parameters) - given]
    return _raises(around[0], [*passed, *known_at(around[0], call)])


def _raises(function: cst.FunctionDef, known: Sequence[Condition]) -> bool:
    """Whether a function always raises where these tests have these outcomes."""
    here = [each for each in known if asks_for_lasting(function, each.test)]
    return any(
        all(is_implied(each, here) for each in constraints_on_path(function, raised))
        and _is_always_met(function, raised)
        for raised in of_class(function, cst.Raise)
    )


def _is_always_met(function: cst.FunctionDef, raised: cst.Raise) -> bool:
    """Whether no return comes before it, it is in no loop, and nothing catches it."""
    around = ancestors(function, raised)
    if any(isinstance(each, (*_OPEN, cst.FunctionDef, cst.ClassDef)) and each is not function for each in around):
        return False
    return not any(precedes(function, each, raised) for each in of_class(function, cst.Return))


def _names_in(test: cst.BaseExpression) -> set[str]:
    """The variables that a test asks for, themselves or for an attribute."""
    return {holder_name(each) for each in operands(test)} - {""}
