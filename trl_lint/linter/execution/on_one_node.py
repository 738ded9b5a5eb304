"""Whether all processes of a job are on one machine, as what starts the programs of a file says.

run.sh       torchrun --standalone train.py      the launch says so
launch.py    mp.spawn(worker, nprocs=8)          train.py imports it and starts its processes with it, at an address
             "tcp://127.0.0.1:29500"             that no other machine can reach
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trl_lint.launch.judge.engines import Reach
from trl_lint.launch.judge.starts import LaunchEngines
from trl_lint.linter.execution.project_scan import ProjectScan


def is_on_one_node(project: ProjectScan, programs: Collection[str], own: Sequence[LaunchEngines]) -> bool:
    """Whether each launch of these programs says so, or they start all their processes on their own machine.

    own: these launches. One may start a process that starts the others.
    """
    if own and all(launch.one_node for launch in own):
        return True
    if not programs or not all(launch.one_node or launch.by_program for launch in own):
        return False
    return all(_reach_of(project, each) == {Reach.HERE} for each in programs)


def _reach_of(project: ProjectScan, program: str) -> set[Reach]:
    """Where the processes may be whose group a program, or code that it imports, starts."""
    starting = (each for each in project.files if each.shown.reach is not Reach.NONE)
    return {each.shown.reach for each in starting if project.importers.is_part_of(each.name, program)}
