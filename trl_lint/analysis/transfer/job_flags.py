"""Settings that say whether there are several processes: under them the process group is started.

if config.distributed:                config.distributed: true for several ranks, from here on and in all functions
    dist.init_process_group("nccl")
if config.log:                        config.log: not known
    wandb.init()
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below, last_name
from trl_lint.domain.constants import MISSING, WORLD_TRUE
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.backends import STARTS_AT_ONCE

if TYPE_CHECKING:
    from trl_lint.analysis.program.classes import FunctionInfo
    from trl_lint.analysis.program.settings_of_job import JobFlags
    from trl_lint.analysis.state.frame import Frame

# A setting is one of these kinds, as far as is known.
_SETTINGS = frozenset({Kind.NUMBER, Kind.UNKNOWN})


def note_start(frame: Frame, node: cst.CSTNode) -> None:
    """The process group is started here."""
    if frame.function is not None:
        frame.engine.job_flags.starters.add(frame.function)
        frame.engine.noted("starts", frame.function)
    _note_conditions(frame, node)


def note_call(frame: Frame, function: FunctionInfo, node: cst.CSTNode, before: int) -> None:
    """A function in sight was called; before: how many synchronisation points there were until then.

    One that does more than start the group is what is to be run by several processes, whether it is run or not.
    """
    if function in frame.engine.job_flags.starters and all(
        point.kind == "barrier" for point in frame.sync_points[before:]
    ):
        _note_conditions(frame, node)


def _note_conditions(frame: Frame, node: cst.CSTNode) -> None:
    flags = frame.engine.job_flags
    root = frame.root
    path = (*ancestors(root, node), node)
    for outer, inner in pairwise(path):
        if isinstance(outer, cst.If) and outer.body is inner and not _starts(outer.orelse, flags):
            for asked in _each_enough(outer.test):
                if isinstance(asked, cst.Attribute):
                    flags.attributes.add(asked.attr.value)
                    frame.engine.noted("asked", asked.attr.value)
                elif isinstance(asked, cst.Name):
                    flags.names.add((frame.function, asked.value))
                    frame.engine.noted("asked", frame.function, asked.value)


def _each_enough(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The parts of a condition each of which is enough: `fsdp or ddp`."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
        yield from _each_enough(test.left)
        yield from _each_enough(test.right)
    else:
        yield test


def _starts(code: cst.CSTNode | None, flags: JobFlags) -> bool:
    """Whether the group is started in the other arm as well, with another backend say."""
    names = {each.rpartition(".")[2] for each in STARTS_AT_ONCE} | {each.name for each in flags.starters}
    calls = (node for node in below(code) if isinstance(node, cst.Call)) if code is not None else ()
    return any(last_name(each.func) in names for each in calls)


def told(frame: Frame, node: cst.Attribute | cst.Name, value: Value) -> Value:
    """The value of a name or an attribute, with what is known of it as a setting."""
    flags = frame.engine.job_flags
    if isinstance(node, cst.Attribute):
        is_flag = node.attr.value in flags.attributes
    else:
        is_flag = (frame.function, node.value) in flags.names
    is_open = value.const is MISSING or isinstance(value.const, bool)
    if not is_flag or not is_open or value.rank.differs or value.kind not in _SETTINGS:
        return value
    return value.but(const=WORLD_TRUE)
