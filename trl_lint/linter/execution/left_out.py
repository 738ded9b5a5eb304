"""Findings that are not in the default set because of how their code is started, or because nothing runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.findings import Consequence
from trl_lint.linter.execution.made_with_literals import is_of_bare_objects
from trl_lint.linter.execution.main_blocks import is_of_lone_program
from trl_lint.linter.execution.not_run import never_runs
from trl_lint.linter.execution.one_process_code import is_of_one_process
from trl_lint.linter.execution.option_branches import is_behind_option, is_of_trial
from trl_lint.linter.execution.single_branches import is_run_alone

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module, Project
    from trl_lint.domain.engines import EnginesInUse
    from trl_lint.linter.locate import LocatedViolation

# Consequences that neither stop a training run nor harm what it learns.
_MILD = frozenset({Consequence.WRONG_NUMBER, Consequence.RACE, Consequence.WASTE})
# Those that do no harm either where nothing that is learned is kept.
_MILD_IN_TRIALS = _MILD | {Consequence.WRONG_TRAINING}


def is_left_out(project: Project, module: Module, found: LocatedViolation, in_cells: bool) -> bool:
    """Whether a finding is reported on request only. in_cells: whether its file is a notebook that starts no processes.

    It is if every known launch of its code starts a single process, if the code is never run as shipped, or only on
    objects with a bare model, or in trials, where it does no harm.
    """
    if never_runs(project, module, found.violation.node, mild=found.finding.consequence in _MILD):
        return True
    if found.finding.consequence in _MILD_IN_TRIALS and is_of_trial(project, module, found.violation.node):
        return True
    if all(is_of_bare_objects(project, each.violation) for each in found.parts):
        return True
    engines = module.engines()
    if found.rule.fails_in_one_process(found.violation.event) and not engines.one_gpu:
        return False
    if in_cells or is_of_one_process(module, found.violation.event):
        return True
    return (
        _is_started_as_one(engines, found.finding.consequence, shown_at_once=_is_shown_at_once(found))
        or is_behind_option(module, found.violation.node, engines.single_process_options)
        or all(is_run_alone(project, each.violation) for each in found.parts)
        or all(is_of_lone_program(project, each.violation.module, each.violation.node) for each in found.parts)
    )


def _is_shown_at_once(found: LocatedViolation) -> bool:
    """Whether it is a crash of which the first who starts the code on several processes learns by its message."""
    return found.rule.says_what_fails and found.finding.consequence is Consequence.CRASH


def _is_started_as_one(engines: EnginesInUse, consequence: Consequence, *, shown_at_once: bool) -> bool:
    """Whether no known launch starts the code on several processes, as far as it matters for this consequence.

    If the project starts other programs on several processes, and is silent about this one, races are left out, too.
    Of 166 such places in 34 code bases that were read, 1 is a real bug, 77 are minor, 77 debatable and 11 false.
    So is what a wrapped model lacks, there and where the known launches of other programs with the code are of one
    process: of 21 such places in 8 code bases, 1 is a real bug and 20 are debatable.
    """
    if engines.one_process or engines.no_group:
        return True
    if engines.others_started and (consequence is Consequence.RACE or shown_at_once):
        return True
    return (engines.some_one_process or engines.one_device) and (consequence in _MILD or shown_at_once)
