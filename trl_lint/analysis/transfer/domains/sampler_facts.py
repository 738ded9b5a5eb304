"""Which sampler gives a loader its rows: one that shuffles alike on all ranks, for the epoch that it is told.

    sampler = DistributedSampler(rows)
    DataLoader(rows, sampler=sampler)                                 a loader with the sampler of that call
    DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False)) a loader

    sampler = RandomSampler(rows) if rank == -1 else DistributedSampler(rows)
    DataLoader(rows, sampler=sampler)                                 with the sampler that it has on several processes

    DataLoader(rows, shuffle=True)                                    a loader that is known to have none

`Accelerator.prepare` returns another loader, which tells its sampler the epoch itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trl_lint.analysis.state.refining import Domain
from trl_lint.analysis.transfer.data.shuffling_samplers import sampling_of
from trl_lint.domain.kinds import LoaderValue
from trl_lint.knowledge.torch_distributed import DATA_LOADER

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


class SamplerDomain(Domain["Frame"]):
    def created(self, frame: Frame, bases: Iterable[str], args: Arguments, node: cst.CSTNode, value: Value) -> Value:
        if not isinstance(value, LoaderValue) or DATA_LOADER not in bases:
            return value
        return value.with_parts(value.batch, sampling_of(frame, args, node))


DOMAIN = SamplerDomain()
