"""Lists whose length says nothing of a condition: both branches append as often, or the list is made under it.

if rank == 0:
    parts.append(first)         the length of `parts` is the same on all ranks
else:
    parts.append(other)
if rank == 0:
    parts.append(first)         it is one more on the first rank

if rank <= 0:
    rows = []
    rows.append(first)          all ranks that have `rows` have as many

def parsed(lines):
    rows = []
    for line in lines:
        rows.append(line)       the same, whatever a caller asks before it calls
    return rows
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import branch_of
from trl_lint.analysis.program.syntax import ancestors, assigned_parts, assignments, of_class

# Not in torch_ops: methods of lists that make them longer by one.
_ADD_ONE = frozenset({"append", "appendleft", "insert"})
_NEW = (cst.List, cst.ListComp)
_LEAVES = (cst.Break, cst.Continue, cst.Return)


def is_appended_alike(root: cst.CSTNode, test: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether the `if` with this test appends as often in all of its branches to what this call in one appends to."""
    branch, receiver = branch_of(root, test), _receiver(call)
    if branch is None or receiver is None or not ancestors(branch, call):
        return False
    leaves = any(any(of_class(branch, each)) for each in _LEAVES)
    return not leaves and _added(branch, receiver) is not None


def is_made_there(root: cst.CSTNode, test: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether what this call in the branch of a test appends to is a name that is assigned to in this branch only."""
    branch, receiver = branch_of(root, test), _receiver(call)
    if branch is None or not isinstance(receiver, cst.Name):
        return False
    targets = [target for target, _ in assignments(root) if target.deep_equals(receiver)]
    return bool(targets) and all(ancestors(branch.body, each) for each in (call, *targets))


def is_made_by(function: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether what this call in a function appends to is a name that the function only assigns new lists to."""
    receiver = _receiver(call)
    if not isinstance(receiver, cst.Name) or any(
        each.name.deep_equals(receiver) for each in of_class(function, cst.Param)
    ):
        return False
    values = [value for target, value in assigned_parts(function) if target.deep_equals(receiver)]
    return bool(values) and all(isinstance(each, _NEW) for each in values)


def _receiver(call: cst.CSTNode) -> cst.BaseExpression | None:
    match call:
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(name))) if name in _ADD_ONE:
            return receiver
    return None


def _added(code: cst.CSTNode | None, receiver: cst.BaseExpression) -> int | None:
    """How many elements some code adds to a list, whichever way is taken; None if that depends on it."""
    match code:
        case None:
            return 0
        case cst.If():
            arms = {_added(code.body, receiver), _added(code.orelse, receiver)}
            return arms.pop() if len(arms) == 1 else None
        case cst.Else(body=body) | cst.With(body=body):
            return _added(body, receiver)
        case cst.IndentedBlock() | cst.SimpleStatementSuite() | cst.SimpleStatementLine():
            counts = [_added(each, receiver) for each in code.body]
            return None if None in counts else sum(each for each in counts if each is not None)
        case cst.Expr(value=value) if (appended := _receiver(value)) is not None and appended.deep_equals(receiver):
            return 1
    # What else mentions the list may change it: a loop, `extend`, an assignment.
    mentions = (each for kind in (cst.Name, cst.Attribute) for each in of_class(code, kind))
    return None if any(each.deep_equals(receiver) for each in mentions) else 0
