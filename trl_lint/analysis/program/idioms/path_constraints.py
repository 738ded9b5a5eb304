"""Whether some tests can have the outcomes that a path needs of them, all at once.

    if (main or local) and in_order: raise ValueError      passed: not ((main or local) and in_order)
    if main and is_main() or local and is_local(): return  taken only if `main` or `local` holds,
    if in_order: meet()                                    which it does not where `in_order` does: all ranks meet

The tests are read as formulas over names and attributes that keep one value in the whole function. Everything else in
them may be true or false, also of one place and the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.idioms.path_conditions import (
    Condition,
    ifs_around,
    is_lasting,
    is_none_test,
    none_test_operand,
    outcomes_of_parts,
)
from trl_lint.analysis.program.syntax import of_class, operands

# Tests that are true where the other is false.
_OPPOSITES: tuple[tuple[type[cst.BaseCompOp], type[cst.BaseCompOp]], ...] = (
    (cst.Equal, cst.NotEqual),
    (cst.Is, cst.IsNot),
    (cst.In, cst.NotIn),
)
# The most names in the tests of one path that are tried: 2 ** 8 assignments.
_MOST_NAMES = 8


class _Names:
    """The names, attributes and other parts of tests, numbered: equal names that keep their value share a number."""

    def __init__(self, root: cst.CSTNode) -> None:
        self._root = root
        self.parts: list[cst.BaseExpression] = []
        self._numbers: dict[int, int] = {}

    def add(self, part: cst.BaseExpression) -> None:
        if id(part) in self._numbers:
            return
        is_shared = isinstance(part, (cst.Attribute, cst.Name)) and is_lasting(self._root, part)
        equal = (number for number, known in enumerate(self.parts) if is_shared and known.deep_equals(part))
        number = self._numbers[id(part)] = next(equal, len(self.parts))
        if number == len(self.parts):
            self.parts.append(part)

    def number(self, part: cst.BaseExpression) -> int:
        return self._numbers[id(part)]


def constraints_on_path(root: cst.CSTNode, node: cst.CSTNode) -> list[Condition]:
    """The outcomes that lead to a place of a function (or module): of the tests around it, and of earlier exits."""
    around = [Condition(branch.test, holds) for branch, holds in ifs_around(root, node)]
    return around + [Condition(each.test, False) for each in exits_before(root, node)]


def known_at(function: cst.CSTNode, node: cst.CSTNode) -> Iterator[Condition]:
    """The outcomes of single tests that lead to a place of a function (or module)."""
    for each in constraints_on_path(function, node):
        yield from (part for part in outcomes_of_parts(each) if asks_for_lasting(function, part.test))


def is_implied(wanted: Condition, known: Sequence[Condition]) -> bool:
    """Whether a test has this outcome where others have theirs."""
    match wanted.test:
        case cst.UnaryOperation(operator=cst.Not(), expression=denied):
            return is_implied(Condition(denied, not wanted.holds), known)
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            both = (is_implied(Condition(each, wanted.holds), known) for each in (left, right))
            return all(both) if isinstance(operator, cst.And) is wanted.holds else any(both)
    return any(_is_same_outcome(wanted, each) for each in known)


def _is_same_outcome(one: Condition, other: Condition) -> bool:
    if one.test.deep_equals(other.test):
        return one.holds is other.holds
    match one.test, other.test:
        case (
            cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator, right)]),
            cst.Comparison(left=same, comparisons=[cst.ComparisonTarget(opposite, also)]),
        ) if left.deep_equals(same) and right.deep_equals(also):
            is_same = type(operator) is type(opposite)
            is_opposite = any({type(operator), type(opposite)} == set(pair) for pair in _OPPOSITES)
            return (is_same and one.holds is other.holds) or (is_opposite and one.holds is not other.holds)
    return False


def asks_for_lasting(function: cst.CSTNode, test: cst.BaseExpression) -> bool:
    """Whether what a test asks for is a name or an attribute that has one value in a function (or module)."""
    asked = [each for each in operands(test) if isinstance(each, (cst.Attribute, cst.Name))]
    return bool(asked) and not of_class(test, cst.Call) and all(is_lasting(function, each) for each in asked)


def can_hold_together(root: cst.CSTNode, constraints: Iterable[Condition]) -> bool:
    """Whether tests of one function can have these outcomes in one call of it, as far as the names in them tell."""
    names, wanted = _Names(root), list(constraints)
    for test, _holds in wanted:
        _add_all(names, test)
    if len(names.parts) > _MOST_NAMES:
        return True
    return any(
        all(_value(names, values, test) is holds for test, holds in wanted)
        for values in product((False, True), repeat=len(names.parts))
        if _is_consistent(names, values)
    )


def _add_all(names: _Names, test: cst.BaseExpression) -> None:
    if isinstance(test, cst.BooleanOperation):
        _add_all(names, test.left)
        _add_all(names, test.right)
    elif isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        _add_all(names, test.expression)
    else:
        names.add(test)
        subject = none_test_operand(test)
        if subject is not None:
            names.add(subject)


def _value(names: _Names, values: tuple[bool, ...], test: cst.BaseExpression) -> bool:
    if isinstance(test, cst.BooleanOperation):
        both = (_value(names, values, test.left), _value(names, values, test.right))
        return all(both) if isinstance(test.operator, cst.And) else any(both)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return not _value(names, values, test.expression)
    return values[names.number(test)]


def _is_consistent(names: _Names, values: tuple[bool, ...]) -> bool:
    """Whether nothing that is None is true."""
    for part, value in zip(names.parts, values, strict=True):
        subject = none_test_operand(part)
        if subject is not None and value is is_none_test(part) and values[names.number(subject)]:
            return False
    return True
