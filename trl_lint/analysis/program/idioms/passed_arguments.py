"""Which parameter of a function of the project an argument of a call is for.

def wrapped(model, *, device): ...
wrapped(net, device=0)              `net`: the parameter `model`; `0`: `device`
self.wrapped(net)                   `net`: the parameter after `self`, unless it is a static method
wrapped(*nets)                      not known
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo, Parameter


def parameter_for(function: FunctionInfo, call: cst.Call, arg: cst.Arg) -> Parameter | None:
    """The parameter that an argument of a call is for; None if it is not known, or one for the rest (`*args`)."""
    is_bound = function.cls is not None and not function.is_static and isinstance(call.func, cst.Attribute)
    parameters = function.parameters[1:] if is_bound else function.parameters
    parameter = next((each for each in parameters if arg.keyword is not None and each.name == arg.keyword.value), None)
    place = call.args.index(arg)
    if parameter is None and arg.keyword is None and not arg.star and place < len(parameters):
        parameter = parameters[place]
    return None if parameter is None or parameter.star else parameter
