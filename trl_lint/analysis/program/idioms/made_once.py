"""Calls that run only the first time that they are reached, as they make what is then kept.

@property
def model(self):
    if self._model is None:
        self._model = DistributedDataParallel(self.net)      once, in all rounds of a training
    return self._model

if not self._group:
    self._group = dist.new_group(self.ranks)                 once, unless another method gives `self._group` up
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import (
    assignments,
    below,
    definitions_around,
    inwards,
    is_literal_none,
    last_name,
    of_class,
)

_CONSTRUCTOR = "__init__"


def is_made_once(tree: cst.Module, node: cst.CSTNode) -> bool:
    """Whether a call in a file runs only where an attribute that it sets is lacking."""
    return any(
        isinstance(outer, cst.If) and inner is outer.body and _makes_what_lacks(tree, outer, node)
        for outer, inner in inwards(tree, node)
    )


def _makes_what_lacks(tree: cst.Module, branch: cst.If, node: cst.CSTNode) -> bool:
    match branch.test:
        case cst.Comparison(left=cst.Attribute() as kept, comparisons=[cst.ComparisonTarget(cst.Is(), none)]):
            is_asked = is_literal_none(none)
        case cst.UnaryOperation(operator=cst.Not(), expression=cst.Attribute() as kept):
            is_asked = True
        case _:
            return False
    makes = any(
        target.deep_equals(kept) and (value is node or any(each is node for each in below(value)))
        for target, value in assignments(branch.body)
    )
    return is_asked and makes and not _is_given_up(tree, kept.attr.value)


def _is_given_up(tree: cst.Module, name: str) -> bool:
    """Whether code other than a constructor sets an attribute of this name to None again, or deletes it."""
    if any(last_name(each.target) == name for each in of_class(tree, cst.Del)):
        return True
    for target, value in assignments(tree):
        if last_name(target) == name and is_literal_none(value):
            around = [each for each in definitions_around(tree, target) if isinstance(each, cst.FunctionDef)]
            if around and around[-1].name.value != _CONSTRUCTOR:
                return True
    return False
