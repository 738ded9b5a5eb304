"""How a function uses what a collective gives it: whether padding in it would be counted, and what to pad with.

Padding is only written where each use in sight is shown to leave it out: sums, to which zeros add nothing, and
selections of what differs from one value, which then is the padding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors
from trl_lint.fixes.support.node_types import Path
from trl_lint.fixes.support.scope import binders, names_spelled, nodes
from trl_lint.fixes.support.tree import keyword_of, method_on
from trl_lint.knowledge.heuristics import COMPUTES_ONLY
from trl_lint.knowledge.torch_ops import AveragingTransfer, HandsOn, of_method

# Methods that hand the same elements on.
_HANDS_ON = frozenset({HandsOn.ALIKE, HandsOn.FLOATS, HandsOn.INTEGERS, HandsOn.MOVED, HandsOn.AWAY})
_DIVISIONS = (cst.Divide, cst.FloorDivide, cst.Modulo)

COUNTED = "the code after it would count the padding"
UNKNOWN_USE = "it is not known whether the code after it leaves the padding out"


def padding_for(root: cst.CSTNode, node: cst.CSTNode, dim: int) -> int | str:
    """What a value may be padded with along a dimension, as a function (or module) uses it, or why it may not be."""
    uses = _uses(root, node)
    if uses is None:
        return UNKNOWN_USE
    values = set()
    for chain in uses:
        value = _padding_of(root, chain, dim)
        if isinstance(value, str):
            return value
        values.add(value)
    if len(values) > 1:
        return UNKNOWN_USE
    return values.pop() if values else 0


def reduction_of_all(root: cst.CSTNode, node: cst.CSTNode, reduction_of: Callable[[Path], str]) -> str:
    """The reduction that is made at once of the name a call is bound to, wherever that is used; "" for none."""
    if _bound_name(root, node) is None:
        return ""
    found = {reduction_of(chain) for chain in _uses(root, node) or ()}
    return found.pop() if len(found) == 1 else ""


def _uses(root: cst.CSTNode, node: cst.CSTNode) -> list[Path] | None:
    """Each use of a value: the nodes around it and itself last. None where it goes out of sight."""
    around = ancestors(root, node)
    parent = around[-1] if around else None
    if isinstance(parent, cst.Expr):
        return []
    name = _bound_name(root, node)
    if name is None:
        return [(*around, node)] if not isinstance(parent, (cst.AssignTarget, cst.Assign, cst.Return)) else None
    if len(binders(root, [name])) != 1:
        return None
    chains = ((*ancestors(root, each), each) for each in names_spelled(root, name))
    return [chain for chain in chains if not _only_names(chain[-2], chain[-1])]


def _only_names(parent: cst.CSTNode, name: cst.CSTNode) -> bool:
    """Whether a name is that of a target, a keyword or an attribute, and no use of a value."""
    match parent:
        case cst.AssignTarget():
            return True
        case cst.Arg(keyword=own) | cst.Attribute(attr=own):
            return own is name
    return False


def _bound_name(root: cst.CSTNode, node: cst.CSTNode) -> str | None:
    """The name that a value is assigned to, as it is."""
    around = ancestors(root, node)
    match around[-1] if around else None:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]):
            return name
    return None


def _padding_of(root: cst.CSTNode, chain: Path, dim: int) -> int | str:
    """What one use lets a value be padded with, or why it lets it not."""
    while True:
        node, parent = chain[-1], chain[-2]
        outer = chain[-3] if len(chain) > 2 else None
        method = method_on(chain)
        if method is not None and of_method(method.name).hands_on in _HANDS_ON:
            chain = chain[:-2]
            continue
        if method is not None:
            return _summed(root, chain[:-2], dim, method.args) if _adds_up(method.name) else COUNTED
        match parent:
            case cst.Arg() if isinstance(outer, cst.Call) and _is_sum(outer):
                return _summed(root, chain[:-2], dim, outer.args[1:])
            case cst.Assign():
                return padding_for(root, node, dim)
            case cst.Subscript() if parent.value is node:
                return _selected(node, parent)
            case cst.Comparison() if parent.left is node:
                selection = next((each for each in reversed(chain) if isinstance(each, cst.Subscript)), None)
                return UNKNOWN_USE if selection is None else _selected(node, selection)
            case cst.Attribute():
                return COUNTED
            case _:
                return COUNTED if _is_call_of_torch(outer) else UNKNOWN_USE


def _adds_up(reduction: str) -> bool:
    """Whether zeros change nothing of a reduction. Another method, or another function, may count them."""
    return of_method(reduction).averages is AveragingTransfer.SUM


def _is_sum(call: cst.Call) -> bool:
    """Whether it is `torch.sum(x)` or the like."""
    func = call.func
    return isinstance(func, cst.Attribute) and _adds_up(func.attr.value) and _is_call_of_torch(call)


def _is_call_of_torch(node: cst.CSTNode | None) -> bool:
    """Whether a function of a library, or a builtin, is called that would go through the padding as well."""
    match node:
        case cst.Call(func=cst.Attribute(value=cst.Name(library))):
            return COMPUTES_ONLY.fits(library)
        case cst.Call(func=cst.Name(name)):
            return name in ("len", "max", "min", "sorted")
    return False


def _summed(root: cst.CSTNode, chain: Path, dim: int, args: Sequence[cst.Arg]) -> int | str:
    """A sum over what is padded is right with zeros, unless it is divided: whether by what counts them is open."""
    over = next((arg.value for arg in args if keyword_of(arg) in ("", "axis", "dim")), None)
    if over is not None and _integer(over) != dim:
        return UNKNOWN_USE
    if any(isinstance(each, cst.BinaryOperation) and isinstance(each.operator, _DIVISIONS) for each in chain):
        return COUNTED
    statement = next((each for each in reversed(chain) if isinstance(each, (cst.Assign, cst.AugAssign))), None)
    if isinstance(statement, cst.AugAssign):
        return 0
    if statement is None:
        return 0
    names = [target.target.value for target in statement.targets if isinstance(target.target, cst.Name)]
    return COUNTED if any(_is_divided(root, name) for name in names) else 0


def _is_divided(root: cst.CSTNode, name: str) -> bool:
    """Whether a function divides what it calls by this name, or by it."""
    for node in nodes(root):
        match node:
            case cst.BinaryOperation(operator=operator) if isinstance(operator, _DIVISIONS):
                pass
            case cst.AugAssign(operator=cst.DivideAssign() | cst.FloorDivideAssign()):
                pass
            case _:
                continue
        if names_spelled(node, name):
            return True
    return False


def _selected(value: cst.CSTNode, selection: cst.Subscript) -> int | str:
    """`x[x != 3]` leaves out what is padded with 3."""
    match selection.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Comparison(left=left, comparisons=[target])))]:
            if isinstance(target.operator, cst.NotEqual) and left.deep_equals(selection.value):
                constant = _integer(target.comparator)
                if constant is not None and isinstance(value, cst.Name):
                    return constant
    return UNKNOWN_USE


def _integer(node: cst.CSTNode) -> int | None:
    """The number that is written there, if it is a whole one."""
    match node:
        case cst.Integer():
            return node.evaluated_value
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() as inner):
            return -inner.evaluated_value
    return None
