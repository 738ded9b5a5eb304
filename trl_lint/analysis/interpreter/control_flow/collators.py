"""Collators defined where their loader is: they run in its loop, so that they see what was bound after them.

    def collate(rows):
        return model.align(rows)                        read when the loop asks for a batch: the wrapped model

    loader = DataLoader(data, collate_fn=collate)
    model = DistributedDataParallel(model)
    for batch in tqdm(loader): …

What a collator changes is dropped, since it runs in the loader's workers.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.syntax import assignments, names_in, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.values import UNKNOWN
from trl_lint.knowledge.library import canonical
from trl_lint.knowledge.torch_distributed import DATA_LOADER

_COLLATOR = "collate_fn"
# How many assignments the names of what is looped over are followed back through: `batches = tqdm(loader)`.
_FOLLOWED = 2


class _Loaders:
    """The calls in a piece of code that pass a collator by its name, or as a lambda, with the expression of it."""

    def __init__(self) -> None:
        self.passing: tuple[tuple[cst.Call, cst.BaseExpression], ...] | None = None


def run_collators(frame: Frame, loop: cst.For) -> None:
    """Run the nested functions that collate the batches of a loop, as they are called once per batch."""
    known = frame.notes.of(_Loaders)
    if known.passing is None:
        known.passing = tuple(_passing_collators(frame.root))
    if not known.passing:
        return
    sources = _looped_over(frame.root, loop)
    for call, expression in known.passing:
        collator = frame.value_of(expression)
        if not isinstance(collator, FunctionValue) or collator.function.closure is not frame:
            continue
        if any(call in of_class(each, cst.Call) for each in sources) and _makes_loader(frame, call):
            with frame.aside():
                frame.engine.call_value(frame, collator, Arguments([UNKNOWN]), call)


def _passing_collators(root: cst.CSTNode) -> list[tuple[cst.Call, cst.BaseExpression]]:
    calls = ((call, arg.value) for call in of_class(root, cst.Call) for arg in call.args if _is_collator(arg))
    return [each for each in calls if isinstance(each[1], (cst.Lambda, cst.Name))]


def _is_collator(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value == _COLLATOR


def _makes_loader(frame: Frame, call: cst.Call) -> bool:
    return canonical(library_name_of(frame.engine.settle(frame.engine.evaluate(frame, call.func)))) == DATA_LOADER


# A loop is run until nothing changes, as often for each iteration of the loops around it.
@tree_cache(256)
def _looped_over(root: cst.CSTNode, loop: cst.For) -> tuple[cst.BaseExpression, ...]:
    """The expression that a loop is over, and those that were assigned to the names in it."""
    found: list[cst.BaseExpression] = [loop.iter]
    fresh = found
    for _ in range(_FOLLOWED):
        names = set().union(*map(names_in, fresh))
        fresh = [value for target, value in assignments(root) if not names.isdisjoint(names_in(target))]
        found += [each for each in fresh if each not in found]
    return tuple(found)
