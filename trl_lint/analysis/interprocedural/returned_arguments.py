"""Functions that return one of their arguments unchanged.

For example:

    def compiled(args, model, blocks):
        for index, block in enumerate(blocks):
            blocks[index] = torch.compile(block)
        return model                              all that is known of the model at a call is known of the result
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import of_class
from trl_lint.domain.values import Value


def returned_argument(function: FunctionInfo, arguments: Mapping[str, Value]) -> Value | None:
    """The argument that a call returns unchanged, if the function is known to do that."""
    node = function.node
    if not isinstance(node, cst.FunctionDef) or node.asynchronous is not None or function.decorators:
        return None
    name = returned_name(node)
    if name is None or name not in arguments:
        return None
    named = sum(each.value == name for each in of_class(node.body, cst.Name))
    return arguments[name] if named == len(of_class(node.body, cst.Return)) else None


def returned_name(node: cst.FunctionDef) -> str | None:
    """The name whose value a function returns at its end, and wherever else it returns something."""
    name = _returned_at_the_end(node.body)
    if name is None or of_class(node.body, cst.Yield):
        return None
    returned = (each.value for each in of_class(node.body, cst.Return) if each.value is not None)
    return name if all(isinstance(each, cst.Name) and each.value == name for each in returned) else None


def _returned_at_the_end(body: cst.BaseSuite) -> str | None:
    last = body.body[-1] if body.body else None
    line = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else None
    value = line.value if isinstance(line, cst.Return) else None
    return value.value if isinstance(value, cst.Name) else None
