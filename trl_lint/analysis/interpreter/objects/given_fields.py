"""Fields that a function sets on its parameters, if the value is the rank or a string that all ranks share.

    args.rank = int(os.environ["RANK"])
    torch.cuda.set_device(args.rank)             the rank in the whole job, as assigned
    args.out = os.path.join(args.out, args.name) the same on all ranks, as its parts are
    args = start(args)                           nothing is known of the fields of another object

They are kept among the names of the state, under a key that is no identifier (`args.rank`). Assigning another value to
a field drops what was known of it: then its own name may say more.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.state import changed_settings
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.control import Uniformity
from trl_lint.domain.provenance import SharedName, source_step
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value


class Fields:
    """The names of the objects whose fields are kept here."""

    def __init__(self) -> None:
        self.owners: set[str] = set()


def assign(frame: Frame, target: cst.Attribute, value: Value) -> None:
    """`args.rank = value`."""
    if not isinstance(target.value, cst.Name):
        return
    changed_settings.note(frame, target, value)
    receiver, field = target.value.value, f"{target.value.value}.{target.attr.value}"
    owners = frame.notes.of(Fields).owners
    if value.rank == ranks.RANK_LOCAL and value.kind is Kind.NUMBER:
        owners.add(receiver)
        frame.memory.names[field] = value
    elif field in frame.memory.names and frame.memory.names[field].kind in _MAY_BE_TEXT:
        frame.memory.names[field] = value
    elif _is_shared_text(value) and frame.memory.control.uniformity is Uniformity.UNIFORM:
        owners.add(receiver)
        frame.memory.names[field] = value
    elif receiver in owners:
        frame.memory.names.pop(field, None)


# The result of `os.path.join(…)` is only known to be pure.
_MAY_BE_TEXT = frozenset({Kind.STRING, Kind.TENSOR, Kind.UNKNOWN})


def _is_shared_text(value: Value) -> bool:
    """Whether a value is a path or name shared by all ranks, or one that each rank derives from the time by itself."""
    if value.kind not in _MAY_BE_TEXT or value.rank.state is State.BOTTOM:
        return False
    return value.rank.is_uniform or isinstance(source_step(value.provenance), SharedName)


def read(frame: Frame, node: cst.CSTNode) -> Value | None:
    """The value assigned to a field, if known."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        return frame.memory.names.get(f"{node.value.value}.{node.attr.value}")
    return None


def forget(frame: Frame, receiver: str) -> None:
    """Drop the fields of a name that is bound to another object."""
    if receiver in frame.notes.of(Fields).owners:
        for name in [each for each in frame.memory.names if each.startswith(f"{receiver}.")]:
            del frame.memory.names[name]
