"""A table that is made anew where it is too short: the rows that all ranks have are the same, whoever has more of them.

if len(self.weights) < count:                         count: of this rank's samples
    self.weights = 1 / torch.arange(1, count + 1)
self.weights                                          the same on all ranks, as far as they need it
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import alternatives
from trl_lint.domain.heap import Memory
from trl_lint.domain.joins import join
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Value

_Key = TypeVar("_Key", bound=Hashable)
# Not in torch_ops: names as written, of the number of a tensor's rows.
_SIZES = frozenset({"shape", "size"})


def names_after(node: cst.If, taken: Memory, skipped: Memory) -> dict[str, Value]:
    """What names hold after an `if` that makes a table longer, where it is too short."""
    tables = {each.value for each in _too_short(node) if isinstance(each, cst.Name)}
    return _joined(tables, taken.names, skipped.names)


def attributes_after(node: cst.If, taken: Memory, skipped: Memory) -> dict[tuple[Hashable, str], Value]:
    """What attributes hold after such an `if`."""
    tables = {each.attr.value for each in _too_short(node) if isinstance(each, cst.Attribute)}
    return _joined((key for key in taken.attributes if key[1] in tables), taken.attributes, skipped.attributes)


def _joined(keys: Iterable[_Key], taken: Mapping[_Key, Value], skipped: Mapping[_Key, Value]) -> dict[_Key, Value]:
    found: dict[_Key, Value] = {}
    for key in keys:
        one, other = taken.get(key), skipped.get(key)
        if one is None or other is None or one is other:
            continue
        if one.rank.state is State.SAME and other.rank.state is State.SAME:
            found[key] = join(one, other)
    return found


def _too_short(node: cst.If) -> Iterator[cst.BaseExpression]:
    """What the test of an `if` without an `else` compares the length of with a greater number."""
    for part in alternatives(node.test) if node.orelse is None else ():
        match part:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.LessThan(), _)]):
                measured = left
            case cst.Comparison(comparisons=[cst.ComparisonTarget(cst.GreaterThan(), right)]):
                measured = right
            case _:
                continue
        match measured:
            case cst.Call(func=cst.Name("len"), args=[cst.Arg(value=table)]):
                yield table
            case cst.Call(func=cst.Attribute(value=table, attr=cst.Name(name))) if name in _SIZES:
                yield table
            case cst.Subscript(value=cst.Attribute(value=table, attr=cst.Name(name))) if name in _SIZES:
                yield table
