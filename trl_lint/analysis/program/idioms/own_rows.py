"""Code of a data set, or a sampler, that gives the rows of one rank only, by its number, and that of all ranks.

Each of these is a share, in a class; a data set is looked at only if it has both numbers in attributes:

    self.rows[self.rank :: self.size]
    range(self.rank, len(self.rows), self.size)
    islice(self.rows, self.rank, None, self.size)
    if i % self.size != self.rank: continue
    def __getitem__(self, i): return self.rows[i * self.size + self.rank]

The places at which rows begin may be those of a rank without being shares of all ranks:

    self.rows[self.rank * workers + worker :: self.size * workers]
    self.place += self.size                                 and `self.place` begins with the number of the rank
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import (
    assigned_parts,
    is_literal_none,
    last_name,
    of_class,
    operands,
    resolved,
    self_attribute,
)

# Functions that pass on the items of their first argument.
_PASS_ON = frozenset({"enumerate", "iter", "list", "sorted", "tqdm", "zip"})


def shares_in(cls: cst.ClassDef) -> Iterator[tuple[cst.CSTNode, str, str]]:
    """The places where a class takes a share, with the attributes for the rank and for the number of ranks."""
    for method in of_class(cls, cst.FunctionDef):
        for node, rank, size in shares_of(method):
            names = _attribute(method, rank), _attribute(method, size)
            if all(names):
                yield node, *names


def starts_in(cls: cst.ClassDef) -> Iterator[tuple[cst.FunctionDef, cst.CSTNode]]:
    """The parts of the numbers of the rows with which the methods of a class begin, and the methods."""
    for method in of_class(cls, cst.FunctionDef):
        for _, start, _ in shares_of(method):
            for part in operands(written(method, start)):
                yield from ((method, each) for each in operands(written(method, part)))
        for each in of_class(method, cst.AugAssign):
            if isinstance(each.operator, cst.AddAssign) and self_attribute(each.target):
                yield method, each.target


def rows_given_by(cls: cst.ClassDef) -> Iterator[str]:
    """The attributes of `self` whose items a data set gives: those that it loops over, or takes an item from.

    For example, `for row in enumerate(self.rows.as_numpy_iterator()):`.
    """
    for method in of_class(cls, cst.FunctionDef):
        if method.name.value == "__iter__":
            given = [_looped_over(each.iter) for each in of_class(method, cst.For)]
        elif method.name.value == "__getitem__":
            given = [each.value for each in of_class(method, cst.Subscript)]
        else:
            continue
        yield from filter(None, map(self_attribute, given))


def _looped_over(node: cst.BaseExpression) -> cst.BaseExpression:
    """What a loop goes over, without the calls that pass its items on."""
    match node:
        case cst.Call(func=cst.Attribute(value=owner)) if not isinstance(owner, cst.Name):
            return _looped_over(owner)
        case cst.Call(func=cst.Name(name), args=[cst.Arg(value=first), *_]) if name in _PASS_ON:
            return _looped_over(first)
    return node


def written(method: cst.FunctionDef, node: cst.CSTNode) -> cst.CSTNode:
    """What a name stands for, also one of several (`rank, size = …, …`), if the method assigns to it only once."""
    if not isinstance(node, cst.Name):
        return node
    values = [value for target, value in assigned_parts(method) if target.deep_equals(node)]
    return values[0] if len(values) == 1 else node


def shares_of(method: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression, cst.BaseExpression]]:
    """The places where a method takes a share, with what is to be the rank and the number of ranks."""
    for each in of_class(method, cst.Subscript):
        share = each.slice[0].slice if len(each.slice) == 1 else None
        if isinstance(share, cst.Slice) and share.lower is not None and share.step is not None:
            yield each, share.lower, share.step
    for call in of_class(method, cst.Call):
        given = [each.value for each in call.args]
        if last_name(call.func) == "islice" and len(given) == 4 and is_literal_none(given[2]):
            yield call, given[1], given[3]
        if last_name(call.func) == "range" and len(given) == 3:
            yield call, given[0], given[2]
    for test in of_class(method, cst.Comparison):
        yield from _turns(test)
    if method.name.value == "__getitem__" and len(method.params.params) == 2:
        index = method.params.params[1].name.value
        for number in of_class(method, cst.BinaryOperation):
            yield from _places(number, index)


def _turns(test: cst.Comparison) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression, cst.BaseExpression]]:
    """`i % size == rank`."""
    match test:
        case cst.Comparison(
            left=cst.BinaryOperation(operator=cst.Modulo(), right=size),
            comparisons=[cst.ComparisonTarget(operator=cst.Equal() | cst.NotEqual(), comparator=rank)],
        ):
            yield test, rank, size


def _places(
    number: cst.BinaryOperation, index: str
) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression, cst.BaseExpression]]:
    """`index * size + rank`, which other terms may be added to."""
    terms = list(_terms(number))
    for term in terms if len(terms) > 1 else ():
        match term:
            case cst.BinaryOperation(left=one, operator=cst.Multiply(), right=other):
                for place, size in ((one, other), (other, one)):
                    if isinstance(place, cst.Name) and place.value == index:
                        yield from ((number, rank, size) for rank in terms if rank is not term)


def _terms(number: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What is added up in a sum; a number that is no sum is one term."""
    if isinstance(number, cst.BinaryOperation) and isinstance(number.operator, cst.Add):
        yield from _terms(number.left)
        yield from _terms(number.right)
    else:
        yield number


def _attribute(method: cst.FunctionDef, node: cst.BaseExpression) -> str:
    """The attribute of the object that an expression is, or that the method has given that name; "" for others."""
    return self_attribute(resolved(method, node))
