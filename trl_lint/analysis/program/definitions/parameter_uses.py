"""What a parameter is, inferred from what its function does with it, when no known caller or annotation says.

For example:

    accelerator.gather_for_metrics(x)       an Accelerator: nothing else has that method
    model.train(); model(**batch)           a model, wrapped or not
    def train(accelerator, loader):         an Accelerator, by its name and by what the file does with that name
"""

from __future__ import annotations

from collections import defaultdict

import libcst as cst

from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import is_literal_none, of_class
from trl_lint.domain import ranks
from trl_lint.domain.kinds import LibraryInstance, ModelValue
from trl_lint.domain.values import Value, Wrapping
from trl_lint.knowledge.accelerate import ONLY_ACCELERATORS_HAVE
from trl_lint.knowledge.heuristics import ACCELERATOR
from trl_lint.knowledge.models import SWITCH_MODES


def by_use(function: FunctionInfo) -> dict[str, Value]:
    """The parameters whose use in the body of a function shows what they are."""
    names = {parameter.name for parameter in function.parameters}
    read: dict[str, set[str]] = defaultdict(set)
    for node in of_class(function.node, cst.Attribute):
        if isinstance(node.value, cst.Name) and node.value.value in names:
            read[node.value.value].add(node.attr.value)
    called = {call.func.value for call in of_class(function.node, cst.Call) if isinstance(call.func, cst.Name)}
    found: dict[str, Value] = {}
    for name, attributes in read.items():
        if attributes & ONLY_ACCELERATORS_HAVE:
            found[name] = LibraryInstance("accelerate.Accelerator")
        elif name in called and attributes & SWITCH_MODES:
            found[name] = ModelValue(ranks.SAME, wrapping=Wrapping.UNKNOWN)
    return found


# Methods of an Accelerator, and attributes that return its rank.
_USES_ACCELERATOR = (
    rb"\b_?accelerator\.(?:accumulate|backward|free_memory|gather|gather_for_metrics|is_local_main_process|is_main_process"
    rb"|main_process_first|prepare|reduce|unwrap_model|wait_for_everyone)\b"
)


def by_name(module: Module, name: str) -> Value | None:
    """What a parameter is by its name, if nothing else is known of it."""
    if ACCELERATOR.fits(name) and module.mentions(_USES_ACCELERATOR):
        return LibraryInstance("accelerate.Accelerator")
    return None


def is_none_by_default(function: FunctionInfo | None, expression: cst.BaseExpression) -> bool:
    """Whether an expression is a parameter with the default None, so that any other value comes from a caller."""
    if function is None or not isinstance(expression, cst.Name):
        return False
    defaults = (each.default for each in function.parameters if each.name == expression.value)
    return any(map(is_literal_none, defaults))


def default_text(function: FunctionInfo | None, expression: cst.BaseExpression | None) -> str | None:
    """The default text of the parameter that an expression names, if the function does not rebind it."""
    if function is None or not isinstance(expression, cst.Name):
        return None
    bound = (target.target for target in of_class(function.node, cst.AssignTarget))
    if any(isinstance(target, cst.Name) and target.value == expression.value for target in bound):
        return None
    default = next((each.default for each in function.parameters if each.name == expression.value), None)
    text = default.evaluated_value if isinstance(default, cst.SimpleString) else None
    return text if isinstance(text, str) else None


def is_only_compared(function: FunctionInfo, name: str) -> bool:
    """Whether all that a function does is to compare a parameter with a number: `return rank == 0`."""
    body = function.node.body
    statements = [
        line
        for each in (body.body if isinstance(body, cst.BaseSuite) else ())
        for line in (each.body if isinstance(each, cst.SimpleStatementLine) else (each,))
        if not (isinstance(line, cst.Expr) and isinstance(line.value, cst.SimpleString))
    ]
    match statements:
        case [cst.Return(cst.Comparison(cst.Name(left), [cst.ComparisonTarget(_, cst.Integer())]))]:
            return left == name
    return False
