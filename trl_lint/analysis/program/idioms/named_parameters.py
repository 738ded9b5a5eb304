"""Tests of the names of parameters: which of them a branch leaves out.

for name, p in net.named_parameters():
    if "visual" not in name and "scale" not in name: p.requires_grad = False       leaves out visual, scale
    if "head" in name: continue                                                    the rest leaves out head
    if is_old(name): p.requires_grad = False                                       leaves out what is not known
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import libcst as cst

from trl_lint.analysis.program.syntax import names_in

# What is left out is not known.
NOT_KNOWN = frozenset[str]()


def left_out(test: cst.BaseExpression, names: AbstractSet[str], holds: bool) -> frozenset[str] | None:
    """The words in the names of the parameters for which a test is not as given; None if it asks for no name."""
    if names.isdisjoint(names_in(test)):
        return None
    return _words(test, names, holds) or NOT_KNOWN


def _words(test: cst.BaseExpression, names: AbstractSet[str], holds: bool) -> frozenset[str]:
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=negated):
            return _words(negated, names, not holds)
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            both = [_words(each, names, holds) for each in (left, right)]
            return frozenset.union(*both) if isinstance(operator, cst.And) is holds and all(both) else NOT_KNOWN
        case cst.Comparison(
            left=cst.SimpleString() as word, comparisons=[cst.ComparisonTarget(operator, cst.Name(value=name))]
        ) if name in names and isinstance(operator, cst.NotIn if holds else cst.In):
            return frozenset((str(word.evaluated_value),))
    return NOT_KNOWN
