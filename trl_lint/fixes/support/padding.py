"""How a function uses the result of a collective: whether it would count padding, and what to pad with.

Padding is only added if every known use provably ignores it: sums, which zeros do not change, and selections of what
differs from one value, which is then the padding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below
from trl_lint.fixes.support.node_types import Path
from trl_lint.fixes.support.scope import binders, names_spelled
from trl_lint.fixes.support.tree import keyword_of, method_on
from trl_lint.knowledge.heuristics import COMPUTES_ONLY
from trl_lint.knowledge.torch_ops import AveragingTransfer, ElementTransfer, of_method

# Methods that return the same elements.
_PASSES_ON = frozenset(
    {
        ElementTransfer.SAME,
        ElementTransfer.FLOATS,
        ElementTransfer.INTEGERS,
        ElementTransfer.MOVED,
        ElementTransfer.AWAY,
    }
)
_DIVISIONS = (cst.Divide, cst.FloorDivide, cst.Modulo)

COUNTED = "the code after it would count the padding"
UNKNOWN_USE = "it is not known whether the code after it leaves the padding out"


def padding_for(root: cst.CSTNode, node: cst.CSTNode, dim: int) -> int | str:
    """The value to pad with along a dimension, given how a function (or module) uses the result, or why none."""
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
    """The reduction that every use of the name bound to a call applies directly; "" if there is none."""
    if _bound_name(root, node) is None:
        return ""
    found = {reduction_of(chain) for chain in _uses(root, node) or ()}
    return found.pop() if len(found) == 1 else ""


def _uses(root: cst.CSTNode, node: cst.CSTNode) -> list[Path] | None:
    """Each use of a value, with the nodes around it; None if its uses are unknown."""
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
    """Whether a name is that of a target, a keyword or an attribute, and not a use of a value."""
    match parent:
        case cst.AssignTarget():
            return True
        case cst.Arg(keyword=own) | cst.Attribute(attr=own):
            return own is name
    return False


def _bound_name(root: cst.CSTNode, node: cst.CSTNode) -> str | None:
    """The name that a value is directly assigned to."""
    around = ancestors(root, node)
    match around[-1] if around else None:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]):
            return name
    return None


def _padding_of(root: cst.CSTNode, chain: Path, dim: int) -> int | str:
    """The padding value that one use permits, or why it permits none."""
    while True:
        node, parent = chain[-1], chain[-2]
        outer = chain[-3] if len(chain) > 2 else None
        method = method_on(chain)
        if method is not None and of_method(method.name).elements in _PASSES_ON:
            chain = chain[:-2]
            continue
        if method is not None:
            return _summed(root, chain[:-2], dim, method.args) if _ignores_zeros(method.name) else COUNTED
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


def _ignores_zeros(reduction: str) -> bool:
    """Whether zeros do not change a reduction. Another method or function may count them."""
    return of_method(reduction).averages is AveragingTransfer.SUM


def _is_sum(call: cst.Call) -> bool:
    """Whether it is `torch.sum(x)` or similar."""
    func = call.func
    return isinstance(func, cst.Attribute) and _ignores_zeros(func.attr.value) and _is_call_of_torch(call)


def _is_call_of_torch(node: cst.CSTNode | None) -> bool:
    """Whether it calls a library function or builtin that would process the padding as well."""
    match node:
        case cst.Call(func=cst.Attribute(value=cst.Name(library))):
            return COMPUTES_ONLY.fits(library)
        case cst.Call(func=cst.Name(name)):
            return name in ("len", "max", "min", "sorted")
    return False


def _summed(root: cst.CSTNode, chain: Path, dim: int, args: Sequence[cst.Arg]) -> int | str:
    """The padding for a sum over the padded dimension: zero, unless it is divided by what may count the padding."""
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
    """Whether a function divides the value of this name, or divides by it."""
    for node in below(root):
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
    """The padding for a selection: `x[x != 3]` drops padding with 3."""
    match selection.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Comparison(left=left, comparisons=[target])))]:
            if isinstance(target.operator, cst.NotEqual) and left.deep_equals(selection.value):
                constant = _integer(target.comparator)
                if constant is not None and isinstance(value, cst.Name):
                    return constant
    return UNKNOWN_USE


def _integer(node: cst.CSTNode) -> int | None:
    """The value of an integer literal; None for any other node."""
    match node:
        case cst.Integer():
            return node.evaluated_value
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() as inner):
            return -inner.evaluated_value
    return None
