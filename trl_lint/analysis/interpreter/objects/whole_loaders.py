"""Loaders that give each rank all rows in one order, so that a loss is the same on all of them.

    torch.manual_seed(args.seed)
    self.loader = DataLoader(rows, shuffle=True)        all rows, in the order of that seed
    self.loader = DataLoader(rows)                      all rows, in their own order
    self.loader = DataLoader(rows, sampler=sampler)     perhaps a share of them
    self.loader = make_loader(args)                     out of sight

Each rank trains on the same batches then, which is what TRL021 reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import assignments
from trl_lint.domain.kinds import LoaderValue
from trl_lint.domain.loader_samplers import NoSampler
from trl_lint.knowledge.heuristics import IS_LOADER, SEEDS_ALL

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def gives_all_rows(frame: Frame) -> bool:
    """Whether all loaders of the object, or of the function, are such ones, as far as their names and calls show."""
    found = [*_of_object(frame), *_of_function(frame)]
    samplers = [each.sampler for each in found if isinstance(each, LoaderValue) and not _has_own_rows(each)]
    plain = [each for each in samplers if isinstance(each, NoSampler)]
    if not found or len(plain) != len(found):
        return False
    return all(each.shuffles is False for each in plain) or frame.module.program_mentions(SEEDS_ALL.pattern.encode())


def _of_object(frame: Frame) -> Iterator[Value | None]:
    if frame.cls is not None:
        yield from (frame.read_attribute(frame.cls, each) for each in frame.cls.assigned() if IS_LOADER.fits(each))


def _of_function(frame: Frame) -> Iterator[Value | None]:
    for target, value in assignments(frame.root):
        if isinstance(target, cst.Name) and IS_LOADER.fits(target.value):
            yield frame.known_value(value)


def _has_own_rows(loader: LoaderValue) -> bool:
    return loader.batch is not None and loader.batch.rank.differs
