"""What becomes of the result of a call."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below


def is_dropped(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether nothing is done with a result: it is not kept, or its name is bound anew before it is used.

    root: the function (or module) that the node is in.
    """
    path = ancestors(root, node)
    match path[-1] if path else None:
        case cst.Expr():
            return True
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]) as statement:
            mentions = _mentions(root, name, statement)
            if any(isinstance(each, (cst.For, cst.While)) for each in path):
                return not mentions
            later = next((each for each, is_later in mentions.items() if is_later), None)
            return later is None or isinstance(ancestors(root, later)[-1], cst.AssignTarget)
    return False


def _mentions(root: cst.CSTNode, name: str, statement: cst.CSTNode) -> dict[cst.Name, bool]:
    """Where a name stands outside of a statement, in the order of the text, and whether behind it."""
    inside = set(below(statement))
    found: dict[cst.Name, bool] = {}
    is_later = False
    for each in below(root):
        if each is statement:
            is_later = True
        elif isinstance(each, cst.Name) and each.value == name and each not in inside:
            found[each] = is_later
    return found
