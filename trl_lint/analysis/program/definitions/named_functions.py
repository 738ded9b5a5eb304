"""Which function of the project an expression names, as far as the file, the class and the function around it show.

judge(model)            of this file, or imported from another one
self.judge(model)       the method of the class, or of one that it inherits from
judges["a"](model)      not known
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import self_attribute


def function_named(module: Module, around: FunctionInfo | None, callee: cst.BaseExpression) -> FunctionInfo | None:
    """The function; None if it is not known, or not of the project. The file's body has been run."""
    name = self_attribute(callee)
    if name:
        return None if around is None or around.cls is None else around.cls.find(name)
    value = module.names.get(callee.value) if isinstance(callee, cst.Name) else None
    return value.function if isinstance(value, FunctionValue) else None
