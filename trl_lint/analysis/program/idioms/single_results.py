"""Whether a function that returns one value or several, by an argument, returns one here, as its caller uses it so.

loss = super().compute_loss(model, inputs, return_outputs)
self.log({"loss": loss.item()})                     a pair has no `item`: the argument is false where this runs
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, parts_of_target, value_names

# Nodes around a name that only several values have, or that ask how many there are.
_OF_SEVERAL = (cst.Subscript, cst.StarredElement, cst.Arg, cst.For, cst.CompFor)


def is_used_as_one(root: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether a result gets a name, and something reads an attribute of it or computes with it; nothing unpacks it.

    root: the function (or module) of the call.
    """
    match next(reversed(ancestors(root, call)), None):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            around = [ancestors(root, each)[-1] for each in value_names(root) if each.value == name]
            return any(map(_is_of_one, around)) and not any(_is_of_several(each, name) for each in around)
    return False


def _is_of_one(node: cst.CSTNode) -> bool:
    return isinstance(node, (cst.Attribute, cst.BinaryOperation))


def _is_of_several(node: cst.CSTNode, name: str) -> bool:
    """Whether a node that holds a name unpacks its value, takes a part of it, or passes it to code that may do so."""
    match node:
        case cst.Assign(targets=targets, value=cst.Name(value=source)) if source == name:
            return any(len(list(parts_of_target(each.target))) > 1 for each in targets)
    return isinstance(node, _OF_SEVERAL)
