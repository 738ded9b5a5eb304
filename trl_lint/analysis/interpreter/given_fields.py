"""Fields of what a function is given: what it has put there itself, where that is the number of this process.

    args.rank = int(os.environ["RANK"])
    torch.cuda.set_device(args.rank)             the rank in the whole job, as what was put there
    args = start(args)                           of the fields of another object nothing is known

They are kept among the names of a point, under one that no code can have (`args.rank`). What else is put into a field
takes away what was known of it: its own name may say more.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.values import Kind, Value


class Fields:
    """The objects into whose fields a function has put the number of this process, by the names that they have."""

    def __init__(self) -> None:
        self.owners: set[str] = set()


def assign(frame: Frame, target: cst.Attribute, value: Value) -> None:
    """`args.rank = value`."""
    if not isinstance(target.value, cst.Name):
        return
    owner = target.value.value
    if value.rank == ranks.RANK_LOCAL and value.kind is Kind.NUMBER:
        frame.notes.of(Fields).owners.add(owner)
        frame.memory.names[f"{owner}.{target.attr.value}"] = value
    elif owner in frame.notes.of(Fields).owners:
        frame.memory.names.pop(f"{owner}.{target.attr.value}", None)


def read(frame: Frame, node: cst.CSTNode) -> Value | None:
    """What has been put into a field, if that is known."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        return frame.memory.names.get(f"{node.value.value}.{node.attr.value}")
    return None


def forget(frame: Frame, owner: str) -> None:
    """A name stands for another object from here on."""
    if owner in frame.notes.of(Fields).owners:
        for name in [each for each in frame.memory.names if each.startswith(f"{owner}.")]:
            del frame.memory.names[name]
