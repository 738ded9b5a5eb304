"""Wrappers that are made anew where a model has one, for other devices: nothing says that it ever has one.

if isinstance(self.net, nn.DataParallel):
    self.net = nn.DataParallel(self.net.module, device_ids=ids)     it has a wrapper here as before
self.net = nn.DataParallel(self.net, device_ids=ids)                not so: from here on it has one
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.literal_tests import tests_around
from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.program.syntax import last_name
from trl_lint.knowledge.models import INNER_MODEL, WRAPPER_CLASSES


def is_wrapped_anew(root: cst.CSTNode, statement: cst.CSTNode | None, target: cst.BaseExpression) -> bool:
    """Whether a statement gives a target a wrapper of the module that it takes off the one which a test has found.

    root: the function (or module) of the statement.
    """
    match statement:
        case cst.Assign(
            value=cst.Call(func=wraps, args=[cst.Arg(value=cst.Attribute(value=owner, attr=cst.Name(name))), *_])
        ):
            if name != INNER_MODEL or not owner.deep_equals(target):
                return False
        case _:
            return False
    found = (part for test, holds in tests_around(root, statement) if holds for part in parts_of(test))
    return any(_asks_for_wrapper(part, target, wraps) for part in found)


def _asks_for_wrapper(test: cst.CSTNode, model: cst.BaseExpression, wraps: cst.BaseExpression) -> bool:
    """`isinstance(model, Wrapper)` with the class that wraps here, or a known one; `hasattr(model, "module")`."""
    match test:
        case cst.Call(func=cst.Name("isinstance"), args=[cst.Arg(value=subject), cst.Arg(value=classes)]):
            elements = classes.elements if isinstance(classes, cst.Tuple) else ()
            names = {last_name(each.value) for each in elements} or {last_name(classes)}
            return subject.deep_equals(model) and names <= WRAPPER_CLASSES | {last_name(wraps)}
        case cst.Call(
            func=cst.Name("hasattr"), args=[cst.Arg(value=subject), cst.Arg(value=cst.SimpleString() as name)]
        ):
            return subject.deep_equals(model) and name.evaluated_value == INNER_MODEL
    return False
