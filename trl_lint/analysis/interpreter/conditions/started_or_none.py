"""An Accelerator that a program makes only if it is to run as several processes: these have one, and one process None.

For example:

    accelerator = None
    if config.ddp:
        accelerator = Accelerator()
    if accelerator is not None: …             true for several processes
    fabric = Fabric() if config.ddp else None
    fabric is None                            false for them
    helper = accelerator if config.log else None
    helper is None                            not known: nothing is started for it
    if config.accelerate: accelerator = Accelerator()
    else: dist.init_process_group("nccl")     there may be several processes without one
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import last_name, of_class
from trl_lint.analysis.state.frame import ACCELERATOR, Frame
from trl_lint.domain.constants import WORLD_TRUE
from trl_lint.domain.heap import Memory
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.lightning import FABRICS
from trl_lint.knowledge.process_starts import DISTINCT_STARTS, NEED_GROUP, START_PROCESSES

_STARTERS = frozenset({ACCELERATOR, *FABRICS})
# What starts processes otherwise, or needs several.
_OTHER_STARTS = START_PROCESSES | DISTINCT_STARTS | {name.rpartition(".")[2] for name in NEED_GROUP}


def note(frame: Frame, node: cst.If, taken: Memory, skipped: Memory) -> None:
    """Note the names that hold what one branch has made for several processes, and None after the other branch."""
    for branch, made, other in ((node.body, taken, skipped), (node.orelse, skipped, taken)):
        for name in () if branch is None else _called_for(branch):
            joined = frame.memory.names.get(name)
            values = made.names.get(name), other.names.get(name)
            if joined is not None and _is_started(frame, *values, joined):
                frame.memory.names[name] = joined.replace(const=WORLD_TRUE)


def of_choice(frame: Frame, node: cst.IfExp, results: tuple[Value, Value], joined: Value) -> Value:
    """The value of `Accelerator() if config.ddp else None`. results: those of both branches."""
    for branch, values in ((node.body, results), (node.orelse, (results[1], results[0]))):
        if isinstance(branch, cst.Call) and _is_started(frame, *values, joined):
            return joined.replace(const=WORLD_TRUE)
    return joined


def _called_for(branch: cst.CSTNode) -> Iterator[str]:
    """The names to which a piece of code assigns the result of a call."""
    for each in of_class(branch, cst.Assign):
        if isinstance(each.value, cst.Call):
            yield from (target.target.value for target in each.targets if isinstance(target.target, cst.Name))


def _is_started(frame: Frame, made: Value | None, other: Value | None, joined: Value) -> bool:
    """Whether one value is what starts processes and the other None, on all ranks; the file starts none otherwise."""
    if made is None or other is None or other.kind is not Kind.NONE or library_name_of(made) not in _STARTERS:
        return False
    return joined.rank.state is State.SAME and not any(
        last_name(call.func) in _OTHER_STARTS for call in of_class(frame.module.tree, cst.Call)
    )
