"""Loaders that raise where there is a sampler for each rank, as they are told to shuffle as well.

Events of a program:

    sampler = DistributedSampler(rows) if args.distributed else None
    DataLoader(rows, sampler=sampler, shuffle=True)                  ShuffledBesideSampler: several ranks have one
    DataLoader(rows, sampler=sampler, shuffle=sampler is None)       none: it is told not to, then
    DataLoader(rows, sampler=RandomSampler(rows), shuffle=True)      none: it raises on one process as well
    if not args.distributed:
        DataLoader(rows, sampler=sampler, shuffle=True)              none: there is no sampler
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.data_events import ShuffledBesideSampler
from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.idioms.handled_errors import is_caught
from trl_lint.analysis.program.idioms.path_conditions import bindings, ifs_around
from trl_lint.analysis.program.syntax import ancestors, of_class
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.kinds import library_name_of
from trl_lint.knowledge import library
from trl_lint.knowledge.heuristics import DISTRIBUTED_SETTING, JOB_SETTING
from trl_lint.knowledge.torch_distributed import DATA_LOADER, DISTRIBUTED_SAMPLER, OF_LOADER, SHUFFLED_LOADER

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


_RAISES = frozenset({"Exception", "ValueError"})


class RefusedLoaders(Observer["Frame"]):
    emits = frozenset({ShuffledBesideSampler})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name != DATA_LOADER or not isinstance(node, cst.Call):
            return
        place = OF_LOADER[0]
        sampler, shuffle = args.get(*place), args.get(*SHUFFLED_LOADER)
        given, told = args.node(*place), args.node(*SHUFFLED_LOADER)
        if given is None or told is None or sampler is None or shuffle is None or shuffle.const is not True:
            return
        if not _deals(sampler) or is_caught(frame.root, node, _RAISES):
            return
        if not _is_for_one_process(frame.root, node, given.value):
            frame.emit(ShuffledBesideSampler, node, sampler=given.value, shuffle=told.value)


def _deals(sampler: Value) -> bool:
    """Whether a sampler is torch's for the ranks, or of a class that inherits from it."""
    cls = class_of(sampler)
    bases = (library_name_of(sampler),) if cls is None else cls.library_bases()
    return DISTRIBUTED_SAMPLER in map(library.canonical, bases)


def _is_for_one_process(root: cst.CSTNode, call: cst.Call, sampler: cst.BaseExpression) -> bool:
    """Whether a loader may only be made where there is no sampler, by the conditions around it and the exits before.

    They ask for the sampler, how the job runs, or what decides whether there is one. Not those around the sampler, too.
    """
    made = [test for each in bindings(root, sampler) for test in _tests(root, each)]
    words = {name for test in (sampler, *made) for name in _subjects(test)}
    apart = [each for each in _tests(root, call) if not any(each is one for one in made)]
    return any(name in words or _is_of_job(name) for test in apart for name in _subjects(test))


def _tests(root: cst.CSTNode, node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The conditions around a place and in its statement, and those of the exits before it."""
    inside = [each.test for each in of_class(next(iter(ancestors(root, node)[-1:]), node), cst.IfExp)]
    around = [branch.test for branch, _ in ifs_around(root, node)]
    return [*around, *(each.test for each in exits_before(root, node)), *inside]


def _subjects(test: cst.BaseExpression) -> set[str]:
    """What a condition is on: names, and attributes without the objects that have them."""
    owners = {id(each.value) for each in of_class(test, cst.Attribute)}
    names = (each.value for each in of_class(test, cst.Name) if id(each) not in owners)
    return {*names, *(each.attr.value for each in of_class(test, cst.Attribute))} - {"None"}


def _is_of_job(name: str) -> bool:
    return JOB_SETTING.fits(name) or DISTRIBUTED_SETTING.fits(name)


OBSERVER = RefusedLoaders()
