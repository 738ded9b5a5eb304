"""Whether a program starts the processes of its job itself, if it is started as its commands start it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trl_lint.knowledge.heuristics import SETTINGS_OPTION
from trl_lint.launch.judge.starts import BareStart
from trl_lint.linter.execution.project_scan import FileScan, ProjectScan

# Options by which a program that is started once per node, or per rank, is told of the others.
_OF_JOB = frozenset({"local_rank", "node_rank", "nodes", "rank", "world_size"})


def spawns(project: ProjectScan, file: FileScan, program: str, started: Sequence[BareStart]) -> bool:
    """Whether a file is a program that starts processes itself, or a part of it that starts the ranks of a job.

    started: the commands that start the program with bare python. If it needs an option for that, and all of them are
    known to give none, it starts nothing. Nor if it starts a rank on each GPU, and all of them show it one:
    `CUDA_VISIBLE_DEVICES=0 python train.py`.
    """
    if file.shown.spawns_per_gpu and started and all(each.sees_one for each in started):
        return False
    if file.name != program:
        return file.shown.spawns_ranks and program in project.importers.programs_of(file.name)
    return file.shown.spawns and not (started and _are_without(file.shown.spawns_if, started))


def _are_without(options: Collection[str], started: Sequence[BareStart]) -> bool:
    """Whether none of these commands gives any of these options, nor may do so."""
    return bool(options) and not any(each.open or _gives(each, options) for each in started)


def _gives(start: BareStart, options: Collection[str]) -> bool:
    """Options may be abbreviated, and a file of settings may set them."""
    if any(SETTINGS_OPTION.fits(f"--{each}") for each in start.options):
        return True
    return any(each in _OF_JOB or any(option.startswith(each) for option in options) for each in start.options)
