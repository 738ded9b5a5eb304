"""Launches that determine the engine of what they start, and what follows for other programs or nested projects."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from pathlib import PurePosixPath

from trl_lint.domain.engines import HAND_ON_ATTRIBUTES, EnginesInUse, ShownEngine, TrainingEngine
from trl_lint.launch.judge.starts import HOME, LaunchEngines
from trl_lint.linter.execution.project_scan import (
    FileScan,
    ProjectScan,
    all_launches,
    is_of_one,
    launches_of,
    settings_meant,
)


def are_all_known(found: Sequence[FileScan], shown: Collection[TrainingEngine]) -> bool:
    """Whether each known launch determines its engine, and none of them uses DDP."""
    launches = [launch for each in found for launch in each.shown.launches]
    if not launches or TrainingEngine.DDP in shown:
        return False
    return all(is_known(launch, found) for launch in launches)


def is_known(launch: LaunchEngines, found: Sequence[FileScan]) -> bool:
    """Whether a launch determines its engine, or each settings file for several processes that it may name does."""
    if launch.certain or launch.pattern == HOME:
        return launch.certain
    meant = [each.shown.engines for each in settings_meant(found, launch) if not each.shown.one_process]
    return bool(meant) and all(engines and HAND_ON_ATTRIBUTES.issuperset(engines) for engines in meant)


def chosen_by(found: Sequence[FileScan], programs: Collection[str]) -> tuple[TrainingEngine, ...]:
    """The engines that programs choose in their code, if each of them does: `Accelerator(deepspeed_plugin=plugin)`."""
    chosen = [frozenset(each.shown.beside) for each in found if each.name in programs]
    if len(chosen) < len(programs) or not all(chosen):
        return ()
    by_any = frozenset[TrainingEngine]().union(*chosen)
    return tuple(each for each in TrainingEngine if each in by_any)


def as_started_around(found: EnginesInUse, around: Sequence[ProjectScan], names: Set[str]) -> EnginesInUse:
    """What is known of a file whose own project starts nothing, if the projects around it do so in one known way.

    names: the names of the programs that it is part of.
    """
    starts = [
        (scan, each.name, launch)
        for scan in around
        for each in scan.files
        for launch in each.shown.launches
        if PurePosixPath(launch.program).name in names
    ]
    if not starts or not all(is_known(launch, scan.files) and launch.engines for scan, _, launch in starts):
        return found
    where = {engine: name for _, name, launch in reversed(starts) for engine in launch.engines}
    shown = tuple(ShownEngine(engine, where[engine], True) for engine in TrainingEngine if engine in where)
    at_once = any(not launch.by_program for _, _, launch in starts)
    return found._replace(shown=shown, only=TrainingEngine.DDP not in where, launched=True, at_once=at_once)


def start_others_only(project: ProjectScan, programs: Set[str]) -> bool:
    """Whether a project shows how its programs are started, some of them on several processes, but not how these are.

    A command whose program is not known, or lies elsewhere under the name of one of them, may start it.
    """
    started = {PurePosixPath(launch.program).name for launch in all_launches(project)}
    if not project.whole or not started.isdisjoint({"", *(PurePosixPath(each).name for each in programs)}):
        return False
    if launches_of(project, programs) or project.spread.of(programs):
        return False
    if any(each.shown.spawns for each in project.files if each.name in programs):
        return False
    others = launches_of(project, project.importers.programs - programs)
    return not all(is_of_one(project, launch) for launch in others)
