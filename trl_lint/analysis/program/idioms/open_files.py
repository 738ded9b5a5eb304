"""What becomes of a file that a call opens: its name, where it is used, and whether it is only created.

with open(path) as file:           named
file = open(path)                  named
open(path, "a").close()            only created, as nothing can be written to it
file = open(path, "a")
file.close()                       the same
if file is not None:               no use
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, of_class, value_names
from trl_lint.knowledge.effects import CLOSE_FILE, LEAVE_FILE


def bound_to(root: cst.CSTNode, call: cst.CSTNode) -> tuple[cst.Name, cst.CSTNode] | None:
    """The name of an opened file, and the code in which the name refers to it."""
    around = ancestors(root, call)
    match around[-1] if around else None:
        case cst.WithItem(asname=cst.AsName(name=cst.Name() as name)):
            return name, around[-2]
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]):
            return name, root
    return None


def uses_of(root: cst.CSTNode, call: cst.CSTNode) -> list[cst.Name]:
    """Where the file that is opened here is used, other than to close it or to ask for it; empty if it has no name."""
    return [each for each in _mentions(root, call) if not _leaves(root, each)]


def uses_of_parameter(function: cst.CSTNode, name: str) -> list[cst.Name]:
    """Where a function uses the file that it gets for a parameter, other than to close it or to ask for it."""
    around = {id(each) for parameters in of_class(function, cst.Parameters) for each in of_class(parameters, cst.Name)}
    named = (each for each in value_names(function) if each.value == name and id(each) not in around)
    return [each for each in named if not _leaves(function, each)]


def _leaves(root: cst.CSTNode, name: cst.Name) -> bool:
    """Whether nothing is written by this mention of a file: `file.close()`, `if file is not None:`."""
    match ancestors(root, name)[-1]:
        case cst.Attribute(attr=cst.Name(method)):
            return method in LEAVE_FILE
        case cst.Comparison() | cst.ComparisonTarget() | cst.UnaryOperation() | cst.BooleanOperation() | cst.If():
            return True
    return False


def is_only_created(root: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether nothing here writes to a file that is opened for appending: `with open(path, "a"): os.utime(path)`.

    If an object keeps the file (`self.log = open(path, "a")`), its methods are checked instead.
    """
    around = ancestors(root, call)
    match around[-1] if around else None:
        case cst.Assign(targets=targets) if any(isinstance(each.target, cst.Attribute) for each in targets):
            return True
        case cst.AnnAssign(target=cst.Attribute()) | cst.WithItem(asname=None):
            return True
        case cst.Attribute(attr=cst.Name(name)):
            return name in CLOSE_FILE
    bound, mentions = bound_to(root, call), _mentions(root, call)
    is_closed = bool(mentions) or (bound is not None and bound[1] is not root)
    return is_closed and all(_calls_one_of(CLOSE_FILE, root, each) for each in mentions)


def _mentions(root: cst.CSTNode, call: cst.CSTNode) -> list[cst.Name]:
    bound = bound_to(root, call)
    if bound is None:
        return []
    name, code = bound
    return [each for each in value_names(code) if each.value == name.value and each is not name]


def _calls_one_of(methods: frozenset[str], root: cst.CSTNode, name: cst.Name) -> bool:
    """`file.close()`."""
    around = ancestors(root, name)[-1]
    return isinstance(around, cst.Attribute) and around.attr.value in methods
