"""Samplers of a project: the loader that gets one asks it for the order, in the same process, once per epoch.

For example:

    class Shares(Sampler):
        def __iter__(self):
            order = torch.randperm(len(self.rows))          drawn by each rank, if the program has not seeded
            return iter(order[self.rank :: self.size])

    loader = DataLoader(rows, sampler=Shares(rows))         runs `__iter__`, for what it draws
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.knowledge.random_draws import ASKED_LATER
from trl_lint.knowledge.torch_distributed import OF_LOADER

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.frame import Frame


def ask(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """Called for each loader that is made, with its arguments."""
    for each in OF_LOADER:
        sampler = args.get(*each)
        method = sampler.cls.find(ASKED_LATER) if isinstance(sampler, ProjectInstance) else None
        if method is not None:
            with frame.aside():
                frame.engine.call(frame, method, Arguments(), node, sampler)
