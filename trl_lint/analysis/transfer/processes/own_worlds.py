"""Accelerators of a world that a program makes itself of some of its processes, beside the one that started them.

For example:

    if rank in members:                          rank: of all processes, as MPI started them
        os.environ["WORLD_SIZE"] = str(len(members))
        accelerator = Accelerator()              an object of which nothing is known: its world are these processes
    accelerator.prepare(model)                   waits for nobody else
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.program.idioms.passed_ranks import is_set_by_file
from trl_lint.domain.control import Uniformity
from trl_lint.domain.ranks import Origin
from trl_lint.knowledge.launcher_variables import NUMBER_OF_PROCESSES

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


def is_made_for_some(frame: Frame) -> bool:
    """Whether only some ranks get here, by their number, in a file that says how many processes there are.

    Without that, those who make an Accelerator wait for the others, so that it is an object of all of them.
    """
    control = frame.memory.control
    by_rank = control.uniformity is Uniformity.DIVERGENT and any(
        Origin.RANK in each.rank.origins for each in control.conditions
    )
    return by_rank and is_set_by_file(frame.module, NUMBER_OF_PROCESSES)
