"""Arguments with which each rank may call a function that has an effect, such as the group of a tracker's runs."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.state.arguments import Arguments
from trl_lint.domain.values import Kind
from trl_lint.knowledge.effects import GROUPS_RUN, KEEP_RUN, KEEP_SETTINGS, NAMES_RUN, SETTINGS_OF_RUN
from trl_lint.knowledge.schema import Parameter


def makes_correct(args: Arguments, keyword: str | Parameter) -> bool:
    """Whether the argument makes it correct on all ranks: a group has one run per rank, unless a run is named, too."""
    return _is_passed(args, keyword) and not (
        keyword == GROUPS_RUN and any(_names_run(args, each) for each in NAMES_RUN)
    )


def _names_run(args: Arguments, keyword: str) -> bool:
    argument = args.keywords.get(keyword)
    return argument is not None and argument.kind is not Kind.NONE and argument.rank.is_uniform


def _is_passed(args: Arguments, keyword: str | Parameter) -> bool:
    argument = args.keywords.get(keyword) if isinstance(keyword, str) else args.get(*keyword)
    if argument is None or argument.const is False or argument.const in KEEP_RUN:
        return False
    return not (isinstance(keyword, str) and _keeps_run(args.expression(keyword)))


def _keeps_run(settings: cst.BaseExpression | None) -> bool:
    """Whether it is `wandb.Settings(start_method="fork")`: each rank has its own run, as without settings."""
    if not isinstance(settings, cst.Call):
        return False
    name = settings.func.attr if isinstance(settings.func, cst.Attribute) else settings.func
    return (
        isinstance(name, cst.Name)
        and name.value == SETTINGS_OF_RUN
        and all(each.keyword is not None and each.keyword.value in KEEP_SETTINGS for each in settings.args)
    )
