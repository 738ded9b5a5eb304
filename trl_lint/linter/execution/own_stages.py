"""Programs that choose the ZeRO stage in their code, whatever the settings files around them say.

train.py        deepspeed.initialize(model=model, config={"zero_optimization": {"stage": 1}})
other/ds.yaml   zero_stage: 3                                                                    of another program
"""

from __future__ import annotations

from trl_lint.domain.engines import EnginesInUse, TrainingEngine
from trl_lint.launch.judge.own_stages import OwnStage
from trl_lint.linter.execution.project_scan import ProjectScan


def with_own_stage(found: EnginesInUse, project: ProjectScan, file: str) -> EnginesInUse:
    """What is known of a file, without the stage that its programs do not run under by what they say themselves."""
    if all(each.engine is not TrainingEngine.DEEPSPEED_ZERO3 for each in found.shown):
        return found
    programs = {file} if file in project.importers.programs else project.importers.programs_of(file) or {file}
    if not all(_keeps_parameters_whole(project, each) for each in programs):
        return found
    kept = tuple(each for each in found.shown if each.engine is not TrainingEngine.DEEPSPEED_ZERO3)
    return found._replace(shown=kept)


def _keeps_parameters_whole(project: ProjectScan, program: str) -> bool:
    """Whether a program, with the files that it imports, starts DeepSpeed only at stages that it chooses itself."""
    stages = {each.shown.own_stage for each in project.files if project.importers.is_part_of(each.name, program)}
    return stages - {OwnStage.NONE} == {OwnStage.WHOLE}
