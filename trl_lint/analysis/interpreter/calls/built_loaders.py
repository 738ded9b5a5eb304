"""Loaders that code out of sight makes, told by the sampler that they are given and by how they are called.

For example:

    loader = instantiate(cfg.data, dataset=rows, sampler=DistributedSampler(rows))     a DataLoader with the sampler
    batches = LOADERS[name](rows, sampler=DistributedSampler(rows))                    likewise
    batches = instantiate(cfg.loader, dataset=rows, batch_sampler=Strided(rows))       likewise, if that shards
    batches = instantiate(cfg.loader, dataset=rows, sampler=RandomSampler(rows))       a DataLoader that is not known to
    trainer = make(model, sampler=DistributedSampler(rows))                            unknown: no loader by its names
    score = fit(cfg.loader, sampler=DistributedSampler(rows))                          likewise: hydra would make it
    train_loader, valid_loader = make(rows, sampler=DistributedSampler(rows))          unknown: several loaders

What else the loader is told, the code does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.interpreter.calls import row_transfers
from trl_lint.analysis.program.syntax import assignments, callee_of, identifiers, last_name
from trl_lint.analysis.state import settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.domain.kinds import LibraryInstance, LibraryName
from trl_lint.knowledge.engines import BUILDERS
from trl_lint.knowledge.heuristics import IS_LOADER
from trl_lint.knowledge.torch_distributed import DATA_LOADER, OF_LOADER

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value

_SAMPLERS = frozenset(name for _, name in OF_LOADER)


def built(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The loader that a call of something unknown makes; None if it is not known to make one."""
    samplers = [args.keywords[each] for each in _SAMPLERS.intersection(args.keywords)]
    if not any(_is_known(frame, each) for each in samplers) or not any(map(IS_LOADER.fits, _names_of(frame, node))):
        return None
    if any(isinstance(target, cst.Tuple | cst.List) for target in _targets_of(frame, node)):
        return None
    passed = Arguments(keywords=args.keywords)
    passed.double = settings.SETTING
    passed.nodes = {key: each for key, each in args.nodes.items() if isinstance(key, str)}
    return frame.engine.call_value(frame, LibraryName(DATA_LOADER), passed, node)


def _is_known(frame: Frame, sampler: Value) -> bool:
    """Whether a sampler gives each rank its own rows, or is one of a library, of which that is known."""
    return isinstance(sampler, LibraryInstance) or row_transfers.shards(frame, sampler)


def _names_of(frame: Frame, call: cst.CSTNode) -> Iterator[str]:
    """The names in what is called, in the settings of what hydra is to make, and in what the result is assigned to."""
    yield from identifiers(callee_of(call))
    match call:
        case cst.Call(func=func, args=[cst.Arg(value=settings_of_it, keyword=None), *_]) if last_name(func) in BUILDERS:
            yield from identifiers(settings_of_it)
    for target in _targets_of(frame, call):
        yield from identifiers(target)


def _targets_of(frame: Frame, call: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    return (target for target, value in assignments(frame.root) if value is call)
