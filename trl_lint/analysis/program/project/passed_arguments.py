"""Which parameter of a function of the project an argument of a call is for, and what a call passes for a parameter.

def wrapped(model, *, device): ...
wrapped(net, device=0)              `net`: the parameter `model`; `0`: `device`
wrapped(net, 0)                     `0`: none, because only a keyword can be for `device`
self.wrapped(net)                   `net`: the parameter after `self`, unless it is a static method
wrapped(*nets, net)                 not known
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo, Parameter

_CONSTRUCTOR = "__init__"


def by_position(function: FunctionInfo, is_bound: bool) -> list[Parameter]:
    """The parameters that arguments are for by their place. is_bound: the first one is the object of a method."""
    is_passed = not is_bound or function.cls is None or function.is_static
    return [each for each in function.parameters if each.positional and not each.star][not is_passed :]


def parameter_for(function: FunctionInfo, call: cst.Call, arg: cst.Arg) -> Parameter | None:
    """The parameter that an argument of a call is for; None if it is not known, or one for the rest (`*args`)."""
    if arg.keyword is not None:
        name = arg.keyword.value
        return next((each for each in function.parameters if each.name == name and not each.star), None)
    place = call.args.index(arg)
    if any(each.star for each in call.args[: place + 1]):
        return None
    parameters = by_position(function, isinstance(call.func, cst.Attribute))
    return parameters[place] if place < len(parameters) else None


def argument_for(function: FunctionInfo, call: cst.Call, parameter: str) -> cst.BaseExpression | None:
    """What a call passes for a parameter, if it is written out."""
    is_bound = function.name == _CONSTRUCTOR or isinstance(call.func, cst.Attribute)
    names = [each.name for each in by_position(function, is_bound)]
    return argument_at(call, names.index(parameter) if parameter in names else None, parameter)


def argument_at(call: cst.Call, place: int | None, name: str) -> cst.BaseExpression | None:
    """What a call passes at a place or by a name, if it is written out. place: None for a keyword only."""
    if any(each.star for each in call.args):
        return None
    named = next((each.value for each in call.args if each.keyword is not None and each.keyword.value == name), None)
    positional = [each.value for each in call.args if each.keyword is None]
    return positional[place] if named is None and place is not None and place < len(positional) else named
