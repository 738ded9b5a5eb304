"""Programs that share a helper which may wrap a model, with others that start the process group, and start none.

For example:

    models.py    if args.ddp: model = DistributedDataParallel(model)     raises where there is no group
    train.py     init_process_group("nccl"); make(args)                  the wrapping is for this program,
    fit.py       make(args)                                              and not for this one: its processes, if there
                                                                         are several, act as if each were alone

What the programs share may also read which process it is in, or declare an option for that: the others need it. A
program that a launcher starts as several processes is expected to have a group, even if nothing shows where from.
"""

from __future__ import annotations

from pathlib import Path

from trl_lint.domain.engines import EnginesInUse
from trl_lint.knowledge.engines import READS_JOB, TOLD_RANK
from trl_lint.launch.judge.engines import Reach, may_start_group
from trl_lint.linter.execution.importers import Importers
from trl_lint.linter.execution.project_files import content_of
from trl_lint.linter.execution.project_scan import ProjectScan, launches_of


def with_groups_of_others(found: EnginesInUse, known: ProjectScan, file: str, project: Path) -> EnginesInUse:
    """What is known of how a file is run; without a group, if each program that may run it is such a one.

    project: the folder of all these files.
    """
    programs = known.importers.programs_running(file)
    if found.no_group or not (known.whole and programs and known.importers.wrapping):
        return found
    starting = _starting(known)
    is_without = all(
        not _is_launched(known, each) and _shares_wrapper(known.importers, each, starting, project) for each in programs
    )
    return found._replace(no_group=is_without)


def _is_launched(known: ProjectScan, program: str) -> bool:
    launches = launches_of(known, {program})
    return bool(known.spread.of((program,))) or not all(each.by_program for each in launches)


def _starting(known: ProjectScan) -> frozenset[str]:
    """The programs with code that is certain to start a group, or with a library for that."""
    files = [each.name for each in known.files if each.shown.reach is not Reach.NONE]
    return frozenset[str]().union(*map(known.importers.programs_running, files))


def _shares_wrapper(importers: Importers, program: str, starting: frozenset[str], project: Path) -> bool:
    wrapping = [each for each in importers.wrapping if importers.is_part_of(each, program)]
    if not wrapping or program in starting:
        return False
    if not all(starting & importers.programs_of(each) for each in wrapping):
        return False
    parts = (each for each in importers.code if importers.is_part_of(each, program))
    return not any(_may_start(project / each, bool(starting & importers.programs_of(each))) for each in parts)


def _may_start(path: Path, is_shared: bool) -> bool:
    """Whether a file may start a group. is_shared: whether a program uses it that does."""
    code = content_of(path)
    return may_start_group(TOLD_RANK.sub(b"", READS_JOB.sub(b"", code.lower())) if is_shared else code)
