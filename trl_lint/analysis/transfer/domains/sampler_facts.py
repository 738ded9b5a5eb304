"""Which sampler gives a loader its rows: one that shuffles alike on all ranks, for the epoch that it is told.

    sampler = DistributedSampler(rows)
    DataLoader(rows, sampler=sampler)                                 a loader with the sampler of that call
    DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False)) a loader

    sampler = RandomSampler(rows) if rank == -1 else DistributedSampler(rows)
    DataLoader(rows, sampler=sampler)                                 with the sampler that it has on several processes

    DataLoader(rows, shuffle=True)                                    a loader that is known to have none
    DataLoader(rows, shuffle=True, sampler=sampler)                   a loader: torch raises, unless that is None
    Buckets(rows, num_replicas=groups)           a sampler of the project that deals to some ranks: its rank is unknown

    prepare_data_loader(DataLoader(rows, shuffle=True))               with a sampler of Ray that is not told the epoch
    prepare_data_loader(DataLoader(rows))                             a loader: that sampler does not shuffle

`Accelerator.prepare` returns another loader, which tells its sampler the epoch itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.state.refining import Domain
from trl_lint.analysis.transfer.data.own_shares import are_for_all
from trl_lint.analysis.transfer.data.shuffling_samplers import sampling_of
from trl_lint.domain import ranks
from trl_lint.domain.kinds import LoaderValue, is_none
from trl_lint.domain.loader_samplers import NoSampler, ShufflingSampler
from trl_lint.knowledge.ray_train import ADDS_SAMPLER
from trl_lint.knowledge.torch_distributed import DATA_LOADER, DISTRIBUTED_SAMPLER, RANKS_OF_SAMPLER

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Function as FunctionRow


class SamplerDomain(Domain["Frame"]):
    def created(self, frame: Frame, bases: Iterable[str], args: Arguments, node: cst.CSTNode, value: Value) -> Value:
        if isinstance(value, ProjectInstance) and DISTRIBUTED_SAMPLER in bases:
            return value if are_for_all(args, _place_of_size(value.cls)) else value.replace(rank=ranks.UNKNOWN)
        if not isinstance(value, LoaderValue) or DATA_LOADER not in bases:
            return value
        return value if _is_refused(args) else value.with_parts(value.batch, sampling_of(frame, args, node))

    def library_function(
        self, frame: Frame, row: FunctionRow, args: Arguments, node: cst.CSTNode, receiver: Value | None, value: Value
    ) -> Value:
        given = args.get(*ADDS_SAMPLER[row.name]) if row.name in ADDS_SAMPLER else None
        if not isinstance(value, LoaderValue) or not isinstance(given, LoaderValue):
            return value
        shuffles = isinstance(given.sampler, NoSampler) and given.sampler.shuffles is True
        return value.with_parts(value.batch, ShufflingSampler(frame.module, node)) if shuffles else value


def _is_refused(args: Arguments) -> bool:
    """Whether torch raises, as the rows are shuffled and have an order of their own."""
    shuffles, sampler = args.keywords.get("shuffle"), args.keywords.get("sampler")
    return shuffles is not None and shuffles.const is True and sampler is not None and not is_none(sampler)


def _place_of_size(cls: ClassInfo) -> int:
    """The place of the parameter for the number of ranks in the calls that make samplers of a class."""
    init = cls.find("__init__")
    places = {} if init is None else {each.name: place for place, each in enumerate(init.parameters[1:])}
    position, name = RANKS_OF_SAMPLER
    return position if init is None else places.get(name, -1)


DOMAIN = SamplerDomain()
