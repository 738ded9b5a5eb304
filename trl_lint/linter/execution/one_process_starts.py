"""Programs that commands start as one process: with plain `python`, or with a launcher that is told so.

    run.sh       CUDA_VISIBLE_DEVICES=0 python train.py     one process, and it sees one GPU
    eval.sh      torchrun --nproc_per_node 1 eval.py        one process
    predict.py   started by nothing                         likely as those beside it, if nothing shows another way
    train.py     ddp = False; if ddp: init_process_group()  started by nothing, and one process as it is shipped

What is part of several programs is run by one process if each of them is.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath

from trl_lint.launch.judge.engines import FileEngines, Reach
from trl_lint.launch.judge.starts import BareStart
from trl_lint.linter.execution.named_programs import parts_of
from trl_lint.linter.execution.own_processes import spawns
from trl_lint.linter.execution.project_scan import ProjectScan, all_launches, is_named, is_of_one, launches_of


def see_one_gpu(project: ProjectScan, file: str, users: Collection[str]) -> bool:
    """Whether every known start of a file, or else of all programs that import it, is one that sees one GPU.

    Such a process wraps nothing in DataParallel. users: the programs that import it.
    """
    if project.bare.of((file,)):
        return _sees_one_gpu(project, file)
    return bool(users) and all(_sees_one_gpu(project, each) for each in users)


def _sees_one_gpu(project: ProjectScan, program: str) -> bool:
    started = bare_starts(project, program, own=True)
    return bool(started) and all(each.sees_one for each in started) and not launches_of(project, {program})


def is_one_started_as_one(project: ProjectScan, programs: Collection[str], users: Collection[str]) -> bool:
    """Whether one of these is started as a single process: the file as a program, or a program that it is part of.

    Not if another one of them starts the ranks of its job itself, as it is started.
    """
    if any(_spawns_ranks(project, each) for each in {*programs, *users}):
        return False
    if any(_is_started_as_one(project, each) for each in {*programs, *users}):
        return True
    return any(_is_beside_bare(project, each) for each in programs) or _trains_as_one(project)


def _spawns_ranks(project: ProjectScan, program: str) -> bool:
    started = bare_starts(project, program, own=True)
    scans = (each for each in project.files if each.name == program and each.shown.spawns_ranks)
    return bool(started) and any(spawns(project, each, program, started) for each in scans)


def is_one_process(project: ProjectScan, file: str, users: Collection[str]) -> bool:
    """Whether every known start of a file, or else of all programs that import it, starts one process.

    users: the programs that import it.
    """
    if is_started_on_several(project, {file, *users}):
        return False
    if _is_started_as_one(project, file) or _says_that_it_is_one(project, file):
        return True
    return all(_is_started_as_one(project, each) or _has_group_off(project, each) for each in users or {file})


def is_one_process_itself(project: ProjectScan, program: str) -> bool:
    """Whether commands start a program, each of them as one process, whatever starts the programs that import it."""
    return _is_started_as_one(project, program) and not is_started_on_several(project, {program})


def is_started_on_several(project: ProjectScan, programs: Collection[str]) -> bool:
    return bool(project.spread.of(programs)) or not all(_is_launched_as_one(project, each) for each in programs)


def _is_launched_as_one(project: ProjectScan, program: str) -> bool:
    """Whether each launch of a program starts one process; one started by hand has no others without a group."""
    others = [each for each in launches_of(project, {program}) if not is_of_one(project, each)]
    return all(each.first_rank for each in others) and (not others or _has_group_off(project, program))


def _is_started_as_one(project: ProjectScan, program: str) -> bool:
    """Whether commands in other files start a program, and each of them as one process."""
    started = launches_of(project, {program})
    if not started or bare_starts(project, program, own=False):
        return _is_launched_as_one(project, program) and _is_bare(project, program)
    return _is_launched_as_one(project, program)


def _says_that_it_is_one(project: ProjectScan, program: str) -> bool:
    """Whether only the program's own text says how it is started, and that is as one process.

    This says nothing about the modules it imports: the scripts of a library show how it is tried out.
    """
    return not launches_of(project, {program}) and _is_bare(project, program, own=True)


def _has_group_off(project: ProjectScan, program: str) -> bool:
    """Whether a constant of a program switches off all that starts its group, and no other code that it imports starts
    one: it is one process as shipped. A launch of several processes, perhaps of any program, says otherwise.
    """
    if not all(each.program for each in all_launches(project)):
        return False
    parts = [each for each in project.files if project.importers.is_part_of(each.name, program)]
    others = (each for each in parts if each.name != program)
    is_off = any(each.name == program and each.shown.group_off for each in parts)
    return is_off and not any(each.shown.spawns_ranks or each.shown.reach is not Reach.NONE for each in others)


def _is_bare(project: ProjectScan, program: str, *, own: bool = False) -> bool:
    """Whether a program is started with plain `python`, and nothing may start it as several processes."""
    if any(not launch.program for launch in all_launches(project)):
        return False  # its program may be this one
    started = bare_starts(project, program, own=own)
    return bool(started) and not any(spawns(project, each, program, started) for each in project.files)


def _is_beside_bare(project: ProjectScan, program: str) -> bool:
    """Whether nothing starts a program, the programs next to it are started as one process, and the project shows no
    other way. Programs in other folders count for themselves only.
    """
    folder = PurePosixPath(program).parent
    shown = [each.shown for each in project.files if not each.shown.program or each.folder == folder]
    if program not in project.importers.programs or any(each.engines or each.spawns for each in shown):
        return False
    if not all(is_of_one(project, launch) for launch in all_launches(project)):
        return False
    beside = [each for each in project.importers.programs if PurePosixPath(each).parent == folder]
    return bool(launches_of(project, beside)) or any(bare_starts(project, each, own=False) for each in beside)


def _trains_as_one(project: ProjectScan) -> bool:
    """Whether the project starts a training as one process, and shows no way to run anything as several."""
    shown = [each.shown for each in project.files]
    if not project.whole or any(map(_may_be_several, shown)):
        return False
    started = {parts_of(start.program) for each in shown for start in each.bare} - {()}
    programs = [each for each in project.importers.programs if is_named(each, started)]
    return any(bare_starts(project, each, own=False) and project.importers.trains(each) for each in programs)


def _may_be_several(shown: FileEngines) -> bool:
    """Whether a file shows anything of a start as several processes, or on several GPUs."""
    on_several = shown.one_process is False or any(each.sees_several for each in shown.bare)
    return on_several or bool(shown.engines or shown.spawns) or not all(each.one_process for each in shown.launches)


def bare_starts(project: ProjectScan, program: str, *, own: bool) -> list[BareStart]:
    """The plain `python` commands that start a program. own: whether the program's own text counts."""
    return [start for file, start in project.bare.of((program,)) if own or file != program]
