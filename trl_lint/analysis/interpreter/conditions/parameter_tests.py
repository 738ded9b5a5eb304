"""Tests for the parameters of a module: a helper that wraps models and losses alike leaves out losses without any.

For example:

    any(p.requires_grad for p in module.parameters())       False for a module whose class has no parameters
    any(True for p in module.parameters())                  the same
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectModel
from trl_lint.analysis.program.definitions.without_parameters import has_no_parameters
from trl_lint.analysis.state.frame import Frame
from trl_lint.knowledge.models import LIST_PARAMETERS


def goes_over_no_parameters(frame: Frame, elements: cst.CSTNode | None) -> bool:
    """Whether a comprehension, or what it is made from, goes over the parameters of a module that has none."""
    if isinstance(elements, (cst.GeneratorExp, cst.ListComp)):
        return goes_over_no_parameters(frame, elements.for_in.iter)
    match elements:
        case cst.Call(func=cst.Attribute(value=module, attr=cst.Name(name))) if name in LIST_PARAMETERS:
            value = frame.known_value(module)
            return isinstance(value, ProjectModel) and has_no_parameters(value.cls)
    return False
