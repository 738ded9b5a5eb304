"""Logging to runs that each process starts for itself, as members of a group: their records are kept side by side.

For example:

    train.py       accelerator = Accelerator()
                   wandb.init(project="x", group=stamp)              every process starts one
    trainer.py     wandb.log({"loss": loss.item()}, step=own_step)   logs to it by the library's name
"""

from __future__ import annotations

import re
from dataclasses import replace

import libcst as cst

from trl_lint.analysis.events import Event, Logged, SideEffect
from trl_lint.analysis.program.definitions.unit_tests import is_test_file
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import ancestors, definitions_around, last_name, of_class
from trl_lint.knowledge.effects import ASKS_FOR_RUN, GROUPS_RUN, LOGS_TO_RUN, NAMES_RUN, NEED_RUN, STARTS_RUN, TURNS_OFF
from trl_lint.linter.execution.one_process_code import RANKS
from trl_lint.rules.base import Violation

_LIBRARY = STARTS_RUN.partition(".")[0]
_ASKS_RANK = re.compile(RANKS.decode() + "|process_zero")
_LETS_SOME_IN = re.compile(r"(?i)rank|main_process|process_zero")


def is_of_own_run(project: Project, event: Event) -> bool:
    """Whether an event logs to a run, and every run that the linted files start is a member of a group."""
    logs = event.name if isinstance(event, SideEffect) else event.sink if isinstance(event, Logged) else ""
    if logs.rpartition(".")[0] in NEED_RUN and logs not in ASKS_FOR_RUN:
        return _is_started_by_all(project)
    return logs in LOGS_TO_RUN and _are_all_of_groups(project)


def with_run(project: Project, violation: Violation) -> Violation:
    """A violation that is no crash if each process has a run of its own, to which a hook or a given function logs."""
    event = violation.event
    if not isinstance(event, SideEffect) or event.name not in LOGS_TO_RUN:
        return violation
    if violation.consequence is not event.effect.in_hooks or not _is_started_by_all(project):
        return violation
    return replace(violation, consequence=event.effect.consequence)


@noted
def _is_started_by_all(project: Project) -> bool:
    """Whether the linted files start a run where nothing keeps a process from it: then each has one to use.

    A process whose run is turned off has one, too. Unit tests start runs for themselves.
    """
    starters = (each for each in _starters(project) if not is_test_file(each.path))
    started = ((module, call) for module in starters for call in _calls(module, STARTS_RUN))
    return any(TURNS_OFF in _given(call) or not _is_for_known_ranks(module, call) for module, call in started)


@noted
def _are_all_of_groups(project: Project) -> bool:
    """Whether the linted files start runs, and each of them is one of a group."""
    started = [(module, call) for module in _starters(project) for call in _calls(module, STARTS_RUN)]
    return bool(started) and all(_is_one_of_a_group(module, call) for module, call in started)


def _starters(project: Project) -> list[Module]:
    paths = [path for path, code in project.linted_code(_LIBRARY) if STARTS_RUN.encode() in code]
    return [module for path in paths if (module := project.module(path)) is not None]


def _calls(module: Module, name: str) -> list[cst.Call]:
    calls = of_class(module.tree, cst.Call)
    return [each for each in calls if module.tree.code_for_node(each.func) == name]


def _is_one_of_a_group(module: Module, call: cst.Call) -> bool:
    """Whether a run has a group and no name, and nothing restricts its start to some of the processes."""
    given = _given(call)
    if GROUPS_RUN not in given or not given.isdisjoint(NAMES_RUN):
        return False
    return not _is_kept_from_some(module, call)


def _given(call: cst.Call) -> set[str]:
    return {argument.keyword.value for argument in call.args if argument.keyword is not None}


def _is_kept_from_some(module: Module, call: cst.Call) -> bool:
    """Whether a decorator, or a condition around a call or a caller of its function, may be for some processes only."""
    decorated = any(each.decorators for each in definitions_around(module.tree, call))
    return decorated or _is_asked_for_rank(module, call)


def _is_for_known_ranks(module: Module, call: cst.Call) -> bool:
    """The same, if only a decorator that mentions a rank may be for some: `@hydra.main(…)` lets all of them in."""
    around = definitions_around(module.tree, call)
    decorators = (module.tree.code_for_node(each) for definition in around for each in definition.decorators)
    return any(_LETS_SOME_IN.search(each) for each in decorators) or _is_asked_for_rank(module, call)


def _is_asked_for_rank(module: Module, call: cst.Call) -> bool:
    """Whether a condition around a call, or a caller of its function, mentions a rank."""
    around = definitions_around(module.tree, call)
    names = {each.name.value for each in around}
    callers = [each for each in of_class(module.tree, cst.Call) if last_name(each.func) in names]
    return any(_is_for_some(module, each) for each in (call, *callers))


def _is_for_some(module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is under a condition that mentions a rank."""
    tests = (each.test for each in ancestors(module.tree, node) if isinstance(each, cst.If))
    return any(_ASKS_RANK.search(module.tree.code_for_node(test)) is not None for test in tests)
