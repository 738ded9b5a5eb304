"""Samplers and streams of a project: a loader that gets one asks it for the order, in the same process, once per epoch.

For example:

    class Shares(Sampler):
        def __iter__(self):
            order = torch.randperm(len(self.rows))          drawn by each rank, if the program has not seeded
            return iter(order[self.rank :: self.size])

    loader = DataLoader(rows, sampler=Shares(rows))         runs `__iter__`, for what it draws
    DataLoader(Stream(files))                               likewise, if `Stream` is an `IterableDataset`
    DataLoader(Stream(files), num_workers=4)                not here: each worker has seeds of its own from the loader
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.knowledge.random_draws import ASKED_LATER
from trl_lint.knowledge.sharding import STREAMS
from trl_lint.knowledge.torch_distributed import OF_LOADER, ROWS_OF_LOADER, WORKERS_OF_LOADER

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.frame import Frame


def ask(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """Called for each loader that is made, with its arguments."""
    asked = [args.get(*each) for each in OF_LOADER]
    rows, workers = args.get(*ROWS_OF_LOADER), args.get(*WORKERS_OF_LOADER)
    if isinstance(rows, ProjectInstance) and STREAMS.intersection(rows.library_bases()):
        asked += [rows] if workers is None or workers.const == 0 else []
    for each in asked:
        method = each.cls.find(ASKED_LATER) if isinstance(each, ProjectInstance) else None
        if method is not None:
            with frame.aside():
                frame.engine.call(frame, method, Arguments(), node, each)
