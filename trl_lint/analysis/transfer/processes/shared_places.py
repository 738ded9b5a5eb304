"""By the arguments of a call: whether what it writes, or the run that it starts, is the same one on all ranks.

For example:

    torch.save(state, "last.pt")             one file for all
    torch.save(state, f"last_{rank}.pt")     one for each rank
    wandb.init(name=f"run-{uuid4()}")        a run for each, but nothing tells the user whose it is
    wandb.init(group="today")                a run for each, which the group brings together
    wandb.init(mode=args.wandb_mode)         a run for each where the setting turns none off
    wandb.init(mode="disabled")              no run at all
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import MISSING
from trl_lint.domain.provenance import SharedName, source_step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.effects import (
    CHOOSES_MODE,
    DESCRIBE_RUN,
    GROUPS_RUN,
    KEEP_RUN,
    KEEP_SETTINGS,
    NAMES_RUN,
    NOWHERE,
    PLACES_RUN,
    SETTINGS_OF_RUN,
    TURNS_OFF,
)
from trl_lint.knowledge.heuristics import GROUP_OF_RANKS
from trl_lint.knowledge.schema import Effect, Parameter


def is_the_same(effect: Effect, args: Arguments, path: Value | None) -> bool:
    """Whether the arguments are the same on all ranks, as far as known."""
    is_alone = GROUPS_RUN not in args.keywords
    if effect.apart and not all(
        is_shared(each) or (is_alone and _is_random(each)) for each in _identifying_arguments(args)
    ):
        return False
    if path is None and effect.path is None:
        return True
    if path is None or path.kind is Kind.NONE:
        return effect.optional
    return is_shared(path)


def _is_random(name: Value) -> bool:
    """Whether a name is drawn at random: it tells the runs of ranks apart, but by nothing that the user knows."""
    return name.rank.differs and name.rank.origins == Origin.RNG


def _identifying_arguments(args: Arguments) -> list[Value]:
    """The arguments that may distinguish runs: a run's name and place, not its description."""
    named = {key: value for key, value in args.keywords.items() if key not in DESCRIBE_RUN}
    return [*args.positional, *(value for key, value in named.items() if key not in PLACES_RUN or value.rank.differs)]


def is_shared(path: Value) -> bool:
    """Whether a path names the same place on all ranks, or one that they all find; `sys.stdout` names none."""
    if path.kind is Kind.MODULE or path.const == NOWHERE:
        return False
    by_disk_or_clock = path.rank.differs and not path.rank.origins & ~(Origin.IO | Origin.CLOCK)
    return path.rank.is_uniform or (by_disk_or_clock and isinstance(source_step(path.provenance), SharedName))


def makes_correct(frame: Frame, args: Arguments, keyword: str | Parameter) -> bool:
    """Whether the argument makes it correct on all ranks: a group has one run per rank, if it says so or names none."""
    if keyword == TURNS_OFF and _is_setting_of_all(frame, args.keywords.get(TURNS_OFF)):
        return False
    return is_passed(args, keyword) and not (
        keyword == GROUPS_RUN and any(_names_run(args, each) for each in NAMES_RUN) and not _is_of_ranks(args)
    )


def _is_of_ranks(args: Arguments) -> bool:
    """Whether the name of a group says that it has the runs of all ranks: `group="DDP"`."""
    group = args.keywords[GROUPS_RUN].const
    return isinstance(group, str) and GROUP_OF_RANKS.fits(group)


def _names_run(args: Arguments, keyword: str) -> bool:
    argument = args.keywords.get(keyword)
    return argument is not None and argument.kind is not Kind.NONE and argument.rank.is_uniform


def is_passed(args: Arguments, keyword: str | Parameter) -> bool:
    """Whether an argument is given, and is not one that keeps each rank's own run."""
    argument = args.keywords.get(keyword) if isinstance(keyword, str) else args.get(*keyword)
    if argument is None or argument.const is False or argument.const in KEEP_RUN:
        return False
    return not (isinstance(keyword, str) and _keeps_run(args.expression(keyword)))


def _is_setting_of_all(frame: Frame, mode: Value | None) -> bool:
    """Whether a setting turns the runs of all ranks off, or none: `mode=args.wandb_mode`, and not by a choice in code.

    Code that chooses it may do so for the ranks that are not the main one, by a test that nothing tells of.
    """
    if mode is None or mode.const not in (MISSING, None) or not mode.rank.is_uniform:
        return False
    return mode.kind is Kind.NONE or not frame.module.project_mentions(CHOOSES_MODE)


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
