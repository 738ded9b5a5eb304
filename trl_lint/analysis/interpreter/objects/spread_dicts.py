"""Dicts of which nothing is known but what the code puts into them, before it passes on what they hold.

For example:

    kwargs = torch.load(path)["kwargs"]
    kwargs.update({"wrap": False})          a dict with this entry, and with others of which nothing is known
    kwargs["wrap"] = False                  the same
    net = Net(**kwargs)                     `wrap=False`
    config.update({"wrap": False})          nothing is known of it: no call shows that it is a dict
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.values import Kind, Value


def as_dict(frame: Frame, value: Value, owner: cst.CSTNode, node: cst.CSTNode) -> ContainerValue | None:
    """Replace something unknown that is about to get entries by a dict, if its name is that of one.

    owner: the expression for it. node: what puts entries into it.
    """
    names = frame.memory.names
    is_known = type(value) is not Value or value.kind is not Kind.UNKNOWN
    if is_known or not isinstance(owner, cst.Name) or owner.value not in names:
        return None
    if not _is_spread(frame.root, owner.value):
        return None
    made = frame.allocate(node, Cell("dict", rest=value, length=ranks.UNKNOWN, naming=ranks.UNKNOWN))
    names[owner.value] = made
    return made


def as_assigned(frame: Frame, value: Value, key: Value, target: cst.Subscript) -> Value:
    """What `value[key]` is assigned to: a dict, if the key is a name and the dict is passed on."""
    return (as_dict(frame, value, target.value, target) if isinstance(key.const, str) else None) or value


def _is_spread(root: cst.CSTNode, name: str) -> bool:
    """Whether a function passes on by their names what is in a dict: `**name`."""
    spread = (each.value for each in of_class(root, cst.Arg) if each.star == "**")
    return any(isinstance(each, cst.Name) and each.value == name for each in spread)
