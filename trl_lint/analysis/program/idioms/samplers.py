"""Samplers that give each rank its own share: of unknown origin, or created for one kind of data only.

For example, with `loader` from another package:

    loader.sampler.set_epoch(epoch)          batches of `loader` are this rank's own
    sampler.set_epoch(epoch)                 so are those of a loader with this sampler

Only samplers that take a share of an order that all ranks draw alike have this method
(torch/utils/data/distributed.py::DistributedSampler.set_epoch).

    sampler = None
    if distributed and split == "train":     the loader of another split has no sampler
        sampler = DistributedSampler(rows)
    loader = DataLoader(rows, sampler=sampler)

A sampler of the project that takes every n-th row from the number of this rank on, or this rank's block of them:

    def __iter__(self): return iter(self.rows[self.rank :: self.world_size])
    def __iter__(self): return iter(self.rows[self.rank * self.each : (self.rank + 1) * self.each])
    def __iter__(self): return iter(range(dist.get_rank(), len(self.rows), dist.get_world_size()))
    def __init__(self, rows, rank, size): self.rank, self.size, self.rows = rank, size, rows[rank::size]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import libcst as cst

from trl_lint.analysis.program.idioms.own_rows import shares_of
from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import assigned_parts, assignments, of_class, resolved, self_attribute
from trl_lint.domain.constants import WORLD_SIZE
from trl_lint.domain.kinds import LoaderValue, is_none
from trl_lint.domain.numbers import is_one
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value, Wrapping
from trl_lint.knowledge.schema import LOADED_BATCH, LOADER
from trl_lint.knowledge.torch_distributed import RANKS_OF_SAMPLER, SAMPLER, SHARDING_SAMPLER

_ANY = rb"sampler\.set_epoch\("
# A sampler that is told of one process only may be told the epoch as well.
_OF_ONE = rb"\b%b\s*=\s*1\b" % RANKS_OF_SAMPLER[1].encode()


def as_sharding(module: Module, name: str, value: Value) -> Value:
    """A value, or the sharding loader or sampler that its name in a file shows it to be if nothing else is known."""
    if not _is_open(value) or not module.mentions(_ANY) or module.mentions(_OF_ONE):
        return value
    word = rb"\b" + re.escape(name.encode()) + rb"\."
    if module.mentions(word + rb"(?:batch_)?" + _ANY) or module.mentions(word + rb"batch_sampler\." + _ANY):
        return LOADER.with_parts(LOADED_BATCH, None)
    if value.kind is Kind.UNKNOWN and name.endswith("sampler") and module.mentions(word + rb"set_epoch\("):
        return SHARDING_SAMPLER
    return value


def _is_open(value: Value) -> bool:
    """Whether nothing is known of a value, or only that it is a loader that `prepare` has not seen."""
    if isinstance(value, LoaderValue):
        batch = value.batch
        return batch is None or (batch.rank.state is State.UNKNOWN and batch.wrapping is not Wrapping.WRAPPED)
    return value.is_unknown


def deals_to_one(
    root: cst.CSTNode, sampler: cst.BaseExpression | None, value_of: Callable[[cst.BaseExpression], Value]
) -> bool:
    """Whether a sampler is told of one process only: `DistributedSampler(rows, num_replicas=1, rank=0)`."""
    call = None if sampler is None else resolved(root, sampler)
    if not isinstance(call, cst.Call):
        return False
    given = (each.value for each in call.args if each.keyword and each.keyword.value == RANKS_OF_SAMPLER[1])
    return any(is_one(value_of(each)) for each in given)


# The value that an expression has in a method; None if it is not known.
NumberIn = Callable[[FunctionInfo, cst.BaseExpression], "Value | None"]


def takes_own_share(cls: ClassInfo, number_in: NumberIn) -> bool:
    """Whether the objects of a class of samplers give each rank a share of its own, whoever has made them."""
    if SAMPLER not in cls.library_bases():
        return False
    return any(
        _is_rank_in(cls, number_in, method, rank) and _is_size_in(cls, number_in, method, size)
        for method in cls.project_methods()
        for rank, size in _shares(method)
    )


def _shares(method: FunctionInfo) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    """By which numbers every n-th row is taken: `rank` and `world_size` of `rows[self.rank :: self.world_size]`.

    The number of ranks is not in the slice of a block, `rows[self.rank * self.each : (self.rank + 1) * self.each]`.
    """
    if not isinstance(method.node, cst.FunctionDef):
        return
    yield from ((rank, size) for _, rank, size in shares_of(method.node))
    for each in of_class(method.node, cst.Slice):
        match each:
            case cst.Slice(cst.BinaryOperation(left, cst.Multiply(), right), cst.BaseExpression(), None):
                yield from ((start, None) for start in (left, right) if self_attribute(start))


def _is_rank_in(cls: ClassInfo, number_in: NumberIn, method: FunctionInfo, node: cst.BaseExpression) -> bool:
    number = _resolved(method.node, node)
    return _is_rank(number_in(method, number)) and all(map(_is_rank, given_to_each(cls, self_attribute(number))))


def _is_size_in(cls: ClassInfo, number_in: NumberIn, method: FunctionInfo, node: cst.BaseExpression | None) -> bool:
    """The number of ranks is another where one process takes all rows: `Sampler(rows, rank=0, world_size=1)`."""
    number = None if node is None else _resolved(method.node, node)
    if number is None or self_attribute(number):
        return _knows_size(cls, "" if number is None else self_attribute(number))
    value = number_in(method, number)
    return value is not None and value.const is WORLD_SIZE


def _resolved(root: cst.CSTNode, node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression that a name stands for, also as a part: `rank, size = dist.get_rank(), dist.get_world_size()`.

    Of what a constructor keeps (`self.rank = rank`), the attribute has what each object is given.
    """
    if not isinstance(node, cst.Name):
        return node
    parts = list(assigned_parts(root))
    given = [value for target, value in parts if target.deep_equals(node)]
    kept = [target for target, value in parts if self_attribute(target) and value.deep_equals(node)]
    return (kept or given)[0] if len(kept or given) == 1 else node


def given_to_each(cls: ClassInfo, name: str) -> Iterator[Value]:
    """What each kind of call of a constructor has left in an attribute, unless that is None: nothing as yet."""
    for constructor in _constructors(cls):
        yield from (each for each in cls.values_assigned_in(name, constructor) if not is_none(each))


def _constructors(cls: ClassInfo) -> list[FunctionInfo]:
    return [each.methods["__init__"] for each in cls.project_lineage() if "__init__" in each.methods]


def _knows_size(cls: ClassInfo, name: str) -> bool:
    """Whether an attribute has the number of all ranks; if none is named, whether one that a constructor sets has."""
    if name:
        return _is_size(cls, name)
    targets = (target for each in _constructors(cls) for target, _ in assignments(each.node))
    names = {self_attribute(target) for target in targets} - {""}
    return any(list(given_to_each(cls, each)) and _is_size(cls, each) for each in sorted(names))


def _is_size(cls: ClassInfo, name: str) -> bool:
    """Whether an attribute has the number of all ranks, as a constructor leaves it, or another method if none does."""
    given = list(given_to_each(cls, name))
    if not given:
        constructors = frozenset(id(each.node) for each in _constructors(cls))
        given.append(cls.values_assigned_except(name, constructors))
    return all(each.const is WORLD_SIZE or each.rank.state is State.BOTTOM for each in given)


def _is_rank(value: Value | None) -> bool:
    return value is not None and value.rank.is_by_rank


def kind_tests(root: cst.CSTNode, name: str) -> Iterator[cst.Comparison]:
    """The comparisons with a string that decide whether a function (or module) assigns a call's result to a name."""
    for assignment in of_class(root, cst.Assign):
        if any(isinstance(each.target, cst.Name) and each.target.value == name for each in assignment.targets):
            yield from _tests_for(root, assignment)


def _tests_for(root: cst.CSTNode, assignment: cst.Assign) -> Iterator[cst.Comparison]:
    value = assignment.value
    if isinstance(value, cst.IfExp):
        yield from _comparisons(value.test)
        value = value.body
    if not isinstance(value, cst.Call):
        return
    for branch, holds in ifs_around(root, assignment):
        yield from _comparisons(branch.test) if holds else ()


def _comparisons(test: cst.BaseExpression) -> Iterator[cst.Comparison]:
    for each in of_class(test, cst.Comparison):
        if any(isinstance(target.comparator, cst.SimpleString) for target in each.comparisons):
            yield each
