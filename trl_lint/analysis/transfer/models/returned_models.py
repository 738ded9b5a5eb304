"""The models that are handed on by what returns its argument: a wrapper around the result is one around the model.

For example:

    DDP(net.to(device))              `net` has moved itself
    DDP(torch.compile(net))          the compiled module runs `net`, and has the same parameters
    fast = torch.compile(net)
    DDP(fast)                        both are inside the wrapper
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once
from trl_lint.analysis.state.callees import library_function_of
from trl_lint.knowledge import library
from trl_lint.knowledge.models import RETURN_THE_MODEL
from trl_lint.knowledge.schema import Function, Transfer

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


def holders(frame: Frame, expression: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The names and attributes that hold a model before what it is passed through; itself, if it is one."""
    found: list[cst.BaseExpression] = []
    names: set[str] = set()
    passed: cst.BaseExpression | None = expression
    while passed is not None:
        match passed:
            case cst.Call(func=cst.Attribute(value=model, attr=cst.Name(method))) if method in RETURN_THE_MODEL:
                passed = model
            case cst.Call(func=func, args=[cst.Arg(value=model, star=""), *_]) if _returns_it(frame, func):
                passed = model
            case cst.Name(name) if name not in names:
                found.append(passed)
                names.add(name)
                made = assigned_once(frame.root, name)
                passed = made if isinstance(made, cst.Call) else None
            case cst.Attribute():
                return [*found, passed]
            case _:
                passed = None
    return found


def _returns_it(frame: Frame, func: cst.BaseExpression) -> bool:
    """Whether a function returns its first argument, which is not by a keyword then."""
    name = library_function_of(frame, func)
    rows = library.rows(name, frame.engine.versions) if name else ()
    return any(isinstance(each, Function) and each.returns == Transfer.FIRST for each in rows)
