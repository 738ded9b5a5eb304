"""Ranks that are known only by their names, where what holds them was made elsewhere.

For example:

    from options import args                      in a file that is unavailable
    args.local_rank, args["local_rank"]           the rank
    class Config:
        def __init__(self, **options):
            for name, value in options.items():
                setattr(self, name, value)
    Config(**vars(parsed)).local_rank             the rank, unless the program assigns another number to it
    class Args: backend = "nccl"
    args = Args
    args.local_rank = int(os.environ["LOCAL_RANK"])
    args.local_rank                               the rank, also in the files that get the class
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.interpreter.objects import settings_objects
from trl_lint.analysis.state import settings
from trl_lint.domain import ranks
from trl_lint.knowledge import heuristics
from trl_lint.knowledge.schema import RANK_GUARD, RANK_INDEX

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def named_rank(frame: Frame, name: str) -> Value:
    """The rank of this process, or a test of it, known only by its name."""
    number = RANK_GUARD if heuristics.MAIN_PROCESS.fits(name) else RANK_INDEX
    return number.replace(provenance=frame.step(frame.statement, f"`{name}` depends on the rank"))


def given(frame: Frame, cls: ClassInfo, name: str) -> Value | None:
    """The rank, if an object keeps all that it was made with as attributes and has one that is called like it."""
    if not heuristics.is_rank_name(name):
        return None
    is_given = settings_objects.keeps_what_it_is_given(cls) or settings_objects.keeps_options(frame, cls)
    return named_rank(frame, name) if is_given else None


def set_on_class(frame: Frame, cls: ClassInfo, name: str) -> Value | None:
    """The rank, if it is an attribute of a class whose body has none of the name, so that a program sets it."""
    is_rank = heuristics.is_rank_name(name)
    return named_rank(frame, name) if is_rank and frame.engine.class_variable(cls, name) is None else None


def in_settings(frame: Frame, holder: Value, key: Value, node: cst.CSTNode) -> Value | None:
    """The rank, if it is an item of unknown settings with such a key; other records may be those of other processes."""
    is_rank = isinstance(key.const, str) and heuristics.RANK_NUMBER.fits(key.const)
    if not is_rank or not isinstance(node, cst.Subscript):
        return None
    are_settings = settings.is_unknown(holder) and settings.are_settings(node.value)
    return named_rank(frame, str(key.const)) if are_settings or holder.rank == ranks.SETTING else None
