"""Code that never runs in a process that gets to a place: the other branch of an `if` around it, or one that returns.

It may also come after a line that raises wherever a condition holds under which the process got to the place.

if args.plot_only: plot(scores)            never runs in a process that gets to `Accelerator()`
else: run(Accelerator())

if args.plot_only:
    plot(scores)                           nor does this
    return
run(Accelerator())
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before, last_statement
from trl_lint.analysis.program.idioms.path_conditions import Condition, ifs_around
from trl_lint.analysis.program.idioms.path_constraints import is_implied, known_at
from trl_lint.analysis.program.syntax import LOOPS, ancestors, below, definitions_around, last_name, of_class
from trl_lint.analysis.program.tree_caches import tree_cache

_LEAVES = (cst.Raise, cst.Return)
_LOADER = "DataLoader"
_REPEATS = (*LOOPS, cst.BaseComp)


@tree_cache(1024)
def nodes_in_loops(root: cst.CSTNode) -> frozenset[int]:
    """The ids of the calls that are in a loop of a function or a module, or for each item of a comprehension."""
    calls = of_class(root, cst.Call)
    return frozenset(id(call) for call in calls if any(isinstance(each, _REPEATS) for each in ancestors(root, call)))


def excluded_by_all(root: cst.CSTNode, places: Iterable[cst.CSTNode]) -> frozenset[int]:
    """The ids of the nodes of a module that never run in a process that gets to one of these places of a function."""
    found: frozenset[int] | None = None
    for each in places:
        excluded = _excluded_by(root, each)
        found = excluded if found is None else found & excluded
        if not found:
            break  # most places exclude nothing, and a function may have hundreds
    return found or frozenset()


# Asked at each call of a function that shows several processes.
@tree_cache(256)
def _excluded_by(root: cst.CSTNode, place: cst.CSTNode) -> frozenset[int]:
    return frozenset(id(node) for arm in _arms_excluded_by(root, place) for node in below(arm))


def _arms_excluded_by(root: cst.CSTNode, place: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for branch, holds in ifs_around(root, place):
        other = branch.orelse if holds else branch.body
        if other is not None and _runs_once(root, branch, place):
            yield other
    for branch in exits_before(root, place):
        if isinstance(last_statement(branch.body), _LEAVES) and _runs_once(root, branch, place):
            yield branch.body
    yield from _behind_refusals(root, place)


def _behind_refusals(root: cst.CSTNode, place: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements after an `if` that always raises in a process that gets to a place."""
    around = definitions_around(root, place)
    function = around[-1] if around else root
    known = list(known_at(function, place))
    for branch in of_class(function, cst.If) if known else ():
        if not _fails(root, branch.body) or not is_implied(Condition(branch.test, True), known):
            continue
        block, is_own = ancestors(root, branch)[-1], definitions_around(root, branch)[-1:] == around[-1:]
        if is_own and _runs_once(root, branch, place) and isinstance(block, (cst.IndentedBlock, cst.Module)):
            yield from block.body[block.body.index(branch) + 1 :]


def _fails(root: cst.CSTNode, block: cst.BaseSuite) -> bool:
    """Whether a block always raises: a `raise` at its end, or the loader of torch that is told two orders."""
    if isinstance(last_statement(block), cst.Raise):
        return True
    lines = (line for line in block.body if isinstance(line, cst.SimpleStatementLine))
    made = (each.value for line in lines for each in line.body if isinstance(each, (cst.Assign, cst.Expr)))
    return any(isinstance(each, cst.Call) and _has_two_orders(each) for each in made) and _imports_loader(root)


def _has_two_orders(call: cst.Call) -> bool:
    """Whether a loader shuffles the rows and has a sampler for them, which torch refuses (utils/data/dataloader.py)."""
    given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    shuffles = given.get("shuffle")
    is_told = isinstance(shuffles, cst.Name) and shuffles.value == "True"
    return last_name(call.func) == _LOADER and is_told and isinstance(given.get("sampler"), cst.Call)


def _imports_loader(root: cst.CSTNode) -> bool:
    """Whether a file has torch's class of loaders, under its own name."""
    imports = (each for each in of_class(root, cst.ImportFrom) if last_name(each.module) == "data")
    names = (each.names for each in imports if not isinstance(each.names, cst.ImportStar))
    return any(each.evaluated_name == _LOADER and each.asname is None for all_ in names for each in all_)


def _runs_once(root: cst.CSTNode, branch: cst.If, place: cst.CSTNode) -> bool:
    """Whether a call of the function that a place is in takes one arm of a branch in it, which is in no loop."""
    around = ancestors(root, branch)
    functions = [each for each in ancestors(root, place) if isinstance(each, (cst.FunctionDef, cst.Lambda))]
    start = around.index(functions[-1]) if functions and functions[-1] in around else 0
    is_inside = not functions or functions[-1] in around
    return is_inside and not any(isinstance(each, LOOPS) for each in around[start:])
