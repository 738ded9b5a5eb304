"""Samplers that each turn of a loop makes anew, and that draw the same order of the same rows each time.

for epoch in range(10):
    sampler = DistributedSampler(rows)                  alike: nothing else in the loop touches `rows`
    loader = make_loader(rows)                          alike, if that makes `DistributedSampler(rows)` of its parameter
    sampler = DistributedSampler(rows, seed=epoch)      another order each time
    rows = load(epoch)                                  other rows each time
    rows.mix()                                          other rows, perhaps
    load_others()                                       the same, if a function here has `global rows`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.passed_arguments import argument_at, argument_for
from trl_lint.analysis.program.syntax import below, last_name, names_in, nonlocal_names, of_class, value_names
from trl_lint.knowledge.torch_distributed import COUNTS, DATA_OF_SAMPLER, SEED_OF_SAMPLER

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo

# What only looks at the rows, beside a loader.
_ASKS = frozenset({"len"}) | COUNTS
_LOADER = "Loader"


@dataclass(frozen=True, slots=True)
class Remade:
    """A call that makes a sampler of the rows that a name has there, or has another function do so."""

    call: cst.CSTNode
    rows: str


def made_here(call: cst.CSTNode) -> Remade | None:
    """What a call of the class makes, if it has no seed, and its rows a name."""
    if not isinstance(call, cst.Call) or argument_at(call, *SEED_OF_SAMPLER) is not None:
        return None
    rows = argument_at(call, *DATA_OF_SAMPLER)
    return Remade(call, rows.value) if isinstance(rows, cst.Name) else None


def made_below(function: FunctionInfo, made: Remade, node: cst.CSTNode) -> Remade | None:
    """What a call of a function makes, if that makes a sampler of its parameter, which is passed a name."""
    if not isinstance(node, cst.Call) or not _is_untouched(function.node.body, made):
        return None
    rows = argument_for(function, node, made.rows)
    return Remade(node, rows.value) if isinstance(rows, cst.Name) else None


def is_alike(file: cst.Module, loop: cst.For | cst.While, made: Remade) -> bool:
    """Whether each turn of a loop makes the same sampler of the same rows."""
    turns = names_in(loop.target) if isinstance(loop, cst.For) else set()
    return made.rows not in turns | _bound_from_inside(file) and _is_untouched(loop.body, made)


def _bound_from_inside(file: cst.Module) -> set[str]:
    """The names outside of them that functions of a file bind: the loop may call one of these functions."""
    return {item.name.value for each in of_class(file, cst.Global) for item in each.names} | nonlocal_names(file)


def _is_untouched(code: cst.CSTNode, made: Remade) -> bool:
    """Whether nothing in some code uses the rows but what makes the sampler, loads them, or counts them."""
    calls = (each for each in of_class(code, cst.Call) if each is made.call or _only_reads(each))
    reads = {id(each) for call in calls for each in below(call)}
    return all(each.value != made.rows or id(each) in reads for each in value_names(code))


def _only_reads(call: cst.Call) -> bool:
    name = last_name(call.func)
    return name in _ASKS or name.endswith(_LOADER)
