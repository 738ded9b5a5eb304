"""Whether a block of code runs a model, or only reads its weights.

For example:

    with unwrap_for_…(model) as bare:
        bare.state_dict()                 reads its weights
        bare.generate(**batch)            runs it
        bare.merge_adapter()              changes them
        bare.train()                      changes it in a way an engine may not expect: counts as running it
        ask(bare)                         depends on what `ask` does with its parameter
        with patched(bare): ...           the same; if it yields the model, nothing gets it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.passed_arguments import parameter_for
from trl_lint.analysis.program.syntax import ancestors, below, last_name
from trl_lint.knowledge.models import DATA, INSPECT_PARAMETERS, LIST_PARTS, MERGE_ADAPTERS, PARAMETERS

# Returns the function that a callee is, if its source is available.
FindFunction = Callable[[cst.BaseExpression], FunctionInfo | None]
# Through how many calls a model is followed.
_MOST = 3


def uses_only_weights(
    code: cst.CSTNode, name: str, find_function: FindFunction, depth: int = _MOST, *, yields_in_vain: bool = False
) -> bool:
    """Whether nothing that a piece of code does with the model of this name runs its forward.

    yields_in_vain: nothing gets what it yields.
    """
    names = {name}
    for node in below(code):
        if not isinstance(node, cst.Name) or node.value not in names:
            continue
        around = ancestors(code, node)
        if _is_label(node, around):
            continue
        use, outside = _chain(node, around)
        statement = outside[-1] if outside else None
        if isinstance(statement, cst.Assign) and _is_model(use):
            names |= set(_targets(statement))
        elif yields_in_vain and isinstance(statement, cst.Yield):
            continue
        elif not _runs_no_forward(use, outside, find_function, depth):
            return False
    return True


def _is_label(node: cst.Name, around: tuple[cst.CSTNode, ...]) -> bool:
    """Whether a name is the name of an attribute, a keyword, or the target of an assignment."""
    parent = around[-1] if around else None
    match parent:
        case cst.Attribute():
            return parent.attr is node
        case cst.Arg():
            return parent.keyword is node
        case cst.AssignTarget():
            return True
    return False


def _chain(node: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> tuple[cst.CSTNode, tuple[cst.CSTNode, ...]]:
    """The whole of `name.a.b`, and its ancestors."""
    while around and isinstance(around[-1], cst.Attribute):
        node, around = around[-1], around[:-1]
    return node, around


def _is_model(use: cst.CSTNode) -> bool:
    """Whether an expression may be the model or a module of it, not plain data or a weight."""
    return not isinstance(use, cst.Attribute) or use.attr.value not in DATA | PARAMETERS


def _targets(statement: cst.Assign) -> Iterator[str]:
    for target in statement.targets:
        if isinstance(target.target, cst.Name):
            yield target.target.value


def _runs_no_forward(
    use: cst.CSTNode, around: tuple[cst.CSTNode, ...], find_function: FindFunction, depth: int
) -> bool:
    parent = around[-1] if around else None
    if isinstance(parent, cst.Call) and parent.func is use:
        return isinstance(use, cst.Attribute) and use.attr.value in LIST_PARTS | MERGE_ADAPTERS
    if isinstance(parent, cst.Arg) and len(around) > 1 and isinstance(call := around[-2], cst.Call):
        if not _is_model(use) or _is_test(call, around[:-2]) or last_name(call.func) in INSPECT_PARAMETERS:
            return True
        function = find_function(call.func)
        return (
            function is not None
            and depth > 0
            and _callee_runs_no_forward(function, call, parent, find_function, depth, _is_entered_only(around[:-2]))
        )
    return not isinstance(parent, (cst.Return, cst.Yield)) or not _is_model(use)


def _is_test(call: cst.Call, around: tuple[cst.CSTNode, ...]) -> bool:
    """Whether a call is (a part of) the test of a branch."""
    inner: cst.CSTNode = call
    for outer in reversed(around):
        if isinstance(outer, (cst.If, cst.IfExp, cst.Assert)):
            return outer.test is inner
        if not isinstance(outer, (cst.BooleanOperation, cst.UnaryOperation, cst.Comparison)):
            return False
        inner = outer
    return False


def _is_entered_only(around: tuple[cst.CSTNode, ...]) -> bool:
    """Whether a call is an item of a `with` statement that binds no name."""
    return bool(around) and isinstance(item := around[-1], cst.WithItem) and item.asname is None


def _callee_runs_no_forward(
    function: FunctionInfo, call: cst.Call, arg: cst.Arg, find_function: FindFunction, depth: int, entered_only: bool
) -> bool:
    """Whether a function whose source is available leaves the model that it is passed unchanged."""
    parameter = parameter_for(function, call, arg)
    if parameter is None:
        return False
    code = function.node.body
    return uses_only_weights(code, parameter.name, find_function, depth - 1, yields_in_vain=entered_only)
