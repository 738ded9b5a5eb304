"""The name of a file that a call opens: `with open(path) as file:`, or `file = open(path)`."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors


def bound_to(root: cst.CSTNode, call: cst.CSTNode) -> tuple[cst.Name, cst.CSTNode] | None:
    """The name of an opened file, and the code in which the name refers to it."""
    around = ancestors(root, call)
    match around[-1] if around else None:
        case cst.WithItem(asname=cst.AsName(name=cst.Name() as name)):
            return name, around[-2]
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]):
            return name, root
    return None
