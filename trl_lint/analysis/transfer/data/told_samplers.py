"""Samplers of the project that draw another order only in an epoch that `set_epoch` tells them, as torch's own does.

    class Dealing(Sampler):
        def __init__(self, rows, rank, size, shuffle=True): self.shuffle, self.epoch = shuffle, 0
        def __iter__(self):
            if self.shuffle:
                generator.manual_seed(self.epoch)       the same order until it is told another epoch
            return iter(order[self.rank :: self.size])
        def set_epoch(self, epoch): self.epoch = epoch

Or one that seeds with its rank beside the epoch (`seeded_samplers.py`).

None if it counts the epochs itself, if something else decides whether it shuffles or draws as well, or if it gives all
ranks all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.syntax import assigned_parts, below, last_name, of_class, self_attribute, used_names
from trl_lint.analysis.transfer.data.own_samplers import deals_itself
from trl_lint.analysis.transfer.data.seeded_samplers import draws_its_own
from trl_lint.knowledge import library, random_draws
from trl_lint.knowledge.torch_distributed import EPOCH, SAMPLER, SEEDS, SHUFFLES, TOLD_BY

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.state.frame import Frame

_DRAWS = frozenset(each.rpartition(".")[2] for each in (*random_draws.DRAWS, *random_draws.DRAWN_BY_METHODS))


def is_told(frame: Frame, cls: ClassInfo) -> bool:
    """Whether a class is such a sampler."""
    gives = cls.find("__iter__")
    if gives is None or cls.find(TOLD_BY) is None or SAMPLER not in map(library.canonical, cls.library_bases()):
        return False
    seeds = [each for each in of_class(gives.node, cst.Call) if last_name(each.func) == SEEDS]
    is_told_alone = len(seeds) == 1 and _only_told_decides(cls, gives, seeds[0])
    return is_told_alone and (deals_itself(frame, cls) or draws_its_own(frame, cls))


def _only_told_decides(cls: ClassInfo, gives: FunctionInfo, seeds: cst.Call) -> bool:
    """Whether the order depends on the epoch, and only on the option to shuffle whether there is one."""
    is_by_option = all(
        self_attribute(each.test) == SHUFFLES[1] and holds for each, holds in ifs_around(gives.node, seeds)
    )
    read = {self_attribute(each) for each in below(seeds)} - {""}
    return is_by_option and EPOCH in read and _are_only_told(cls, read) and _is_only_drawn_after(gives, seeds)


def _are_only_told(cls: ClassInfo, names: set[str]) -> bool:
    """Whether no method changes what the seed is made of but the one that tells the epoch.

    The constructor sets it, the epoch to a number.
    """
    for method in cls.project_methods():
        assigned = [(self_attribute(target), value) for target, value in assigned_parts(method.node)]
        set_here = [(name, value) for name, value in assigned if name in names]
        is_begun = method.name == "__init__" and all(
            isinstance(value, cst.Integer) for name, value in set_here if name == EPOCH
        )
        is_counted = any(self_attribute(each.target) in names for each in of_class(method.node, cst.AugAssign))
        if is_counted or (set_here and not is_begun and method.name != TOLD_BY):
            return False
    return True


def _is_only_drawn_after(gives: FunctionInfo, seeds: cst.Call) -> bool:
    """Whether all that is drawn is drawn from the generator that is seeded: not by `random.shuffle(order)` as well."""
    made = {last_name(target) for target, value in assigned_parts(gives.node) if value is seeds}
    generators = made | used_names(seeds.func)
    draws = (each for each in of_class(gives.node, cst.Call) if last_name(each.func) in _DRAWS)
    return all(seeds in below(each) or not generators.isdisjoint(used_names(each)) for each in draws)


def keeps_option(makes: FunctionInfo) -> bool:
    """Whether a constructor keeps its option to shuffle: `self.shuffle = shuffle`."""
    name = SHUFFLES[1]
    kept = (value for target, value in assigned_parts(makes.node) if self_attribute(target) == name)
    return any(isinstance(each, cst.Name) and each.value == name for each in kept)


def has_no_option(cls: ClassInfo) -> bool:
    """Whether a sampler shuffles in any case."""
    gives = cls.find("__iter__")
    seeds = () if gives is None else (each for each in of_class(gives.node, cst.Call) if last_name(each.func) == SEEDS)
    return gives is not None and any(not list(ifs_around(gives.node, each)) for each in seeds)
