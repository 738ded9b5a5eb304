"""Names that only count: whatever a function assigns to them is 0 or more.

For example:

    saved = 0
    for number, batch in enumerate(loader):     `number` counts
        saved += len(batch)                     `saved` counts
        left = limit - saved                    `left` may be negative
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import bindings
from trl_lint.analysis.program.syntax import assignments, last_name, named_parameters, nonlocal_names, parts_of_target
from trl_lint.analysis.program.tree_caches import tree_cache

# Shows how far a loop is, and goes over the same.
_SHOWS = "tqdm"


@tree_cache(64)
def is_count(function: cst.FunctionDef, name: str) -> bool:
    """Whether all that a function assigns to a name of its own is a number that is not negative."""
    found = list(bindings(function, cst.Name(name)))
    if not found or name in named_parameters(function.params) or name in nonlocal_names(function):
        return False
    values = ((target, value) for target, value in assignments(function) if isinstance(target, cst.Name))
    assigned = [value for target, value in values if last_name(target) == name]
    plain = [each for each in found if isinstance(each, cst.AssignTarget)]
    others = (each for each in found if not isinstance(each, cst.AssignTarget))
    is_plain = len(plain) == len(assigned) and all(map(_is_number, assigned))
    return is_plain and all(_counts_on(each, name) for each in others)


def _counts_on(binding: cst.CSTNode, name: str) -> bool:
    match binding:
        case cst.AugAssign(operator=cst.AddAssign(), value=value):
            return _is_number(value)
        case cst.For(target=target, iter=cst.Call(func=cst.Name(shows), args=[cst.Arg(over), *_])) if shows == _SHOWS:
            return _numbers(target, over, name)
        case cst.For(target=target, iter=over):
            return _numbers(target, over, name)
    return False


def _numbers(target: cst.BaseExpression, over: cst.BaseExpression, name: str) -> bool:
    """Whether the rounds of a loop are numbered by a name."""
    match over:
        case cst.Call(func=cst.Name("enumerate"), args=[_]):
            first = next(parts_of_target(target))
            return isinstance(first, cst.Name) and first.value == name
        case cst.Call(func=cst.Name("range"), args=[_] | [cst.Arg(cst.Integer()), _]):
            return True
    return False


def _is_number(value: cst.BaseExpression) -> bool:
    match value:
        case cst.Call(func=cst.Name("len") | cst.Attribute(attr=cst.Name("numel" | "size"))) | cst.Integer():
            return True
        case cst.Subscript(value=cst.Attribute(attr=cst.Name("shape"))):
            return True
    return False
