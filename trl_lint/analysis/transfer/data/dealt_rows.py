"""Rows that are dealt to all ranks: what a sampler gives, and what a rank takes of them by its number.

Each of these is this rank's share of the rows, which another dealer makes a share of a share:

    rows[rank::size], rows[rank * each : (rank + 1) * each]    with `each = len(rows) // size`
    [row for i, row in enumerate(rows) if i % size == rank], rows.chunk(size)[rank]
    [read(each) for each in rows[rank::size]], CacheDataset(rows[rank::size])
    rows.shard(size, rank), split_dataset_by_node(rows, rank, size), Subset(rows, range(rank, len(rows), size))
    Images(paths)                                              if its `__init__` does one of these, and keeps the result
    Stream(rows, rank, size)                                   if its code does one of these, by attributes
    DistributedSampler(rows)                                   unless it is told another number of ranks
    splits[name] = rows.shard(size, rank)                      in `splits["train"]`, if name is that, or in a loop
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before, last_statement
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.idioms.own_rows import shares_in
from trl_lint.analysis.program.syntax import (
    ancestors,
    assignments,
    calls_super,
    is_literal_none,
    is_super,
    last_name,
    names_in,
    of_class,
    precedes,
    self_attribute,
)
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.transfer.data.own_samplers import deals_itself
from trl_lint.analysis.transfer.data.places_of_shares import (
    cut_rows,
    definition_of,
    is_rank,
    is_rank_at,
    is_share,
    is_size,
    is_turn_of_all,
)
from trl_lint.domain.constants import WORLD_FALSE, WORLD_SIZE, WORLD_TRUE
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import State
from trl_lint.knowledge import library
from trl_lint.knowledge.sharding import KEEPS_ROWS, STREAMS
from trl_lint.knowledge.sharing_loaders import OF_OTHER_ROWS, key_of
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER, RANKS_OF_SAMPLER

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value

_DECIDED = (WORLD_FALSE, WORLD_TRUE)
_DATA_SETS = "torch.utils.data."
OWN_ROWS = "each rank takes its own rows here"
# The place of all that a call returns.
WHOLE = -1
# How many values are followed one from another.
_MAX_DEPTH = 24


@dataclass(frozen=True, slots=True)
class Dealing:
    """The place where rows are dealt. by_sampler: whether a sampler does so. is_list: whether they are no stream.

    is_own: whether the sampler is none of torch's `DistributedSampler`s. loader: the call that makes a loader with the
    sampler. sampler: the call that makes that, if of torch's own class. key: if only this entry of a dict of rows is
    dealt, the text of its key. call: the one that returns the rows.
    """

    step: Step
    by_sampler: bool = False
    is_list: bool = False
    is_own: bool = False
    loader: cst.Call | None = None
    sampler: cst.Call | None = None
    key: str = ""
    call: cst.Call | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """The rows that a function gets for a parameter, or an entry of them: its callers know whether they are dealt."""

    parameter: str
    key: str = ""


class DealtInRun:
    """What deals rows in a run of a function: calls, and the values that calls return, by their places in a tuple."""

    def __init__(self) -> None:
        self.by_call: dict[int, Dealing | None] = {}
        self.by_part: dict[tuple[int, int], Dealing | Passed] = {}


class Dealings:
    """What deals rows in a file: the calls that do so, and the attributes of objects that hold a share, by class."""

    def __init__(self) -> None:
        self.by_call: dict[int, Dealing | None] = {}
        self.by_attribute: dict[tuple[int, str], Dealing] = {}

    def note(self, call: cst.CSTNode, dealing: Dealing | None) -> None:
        """What a call deals, or that it may deal nothing; then it is not taken for a dealer again."""
        known = self.by_call.get(id(call), dealing)
        self.by_call[id(call)] = dealing if known is not None else None


# --- samplers -------------------------------------------------------------------------------------------


def deals(frame: Frame, sampler: Value | None) -> bool:
    """Whether a sampler gives each of all ranks its own rows."""
    if isinstance(sampler, ProjectInstance):
        if sampler.rank.state is State.UNKNOWN:
            return False
        cls = sampler.cls
        if DISTRIBUTED_SAMPLER in cls.library_bases():
            return _gives_share(cls) and all(map(_is_for_all, cls.project_lineage()))
        return deals_itself(frame, cls)
    return library_name_of(sampler) == DISTRIBUTED_SAMPLER and sampler is not None and sampler.rank.state is State.SAME


def is_own_sampler(sampler: Value | None) -> bool:
    """Whether a sampler is none of torch's `DistributedSampler`s, of which libraries know that they deal the rows."""
    return isinstance(sampler, ProjectInstance) and DISTRIBUTED_SAMPLER not in sampler.cls.library_bases()


def call_of_sampler(frame: Frame, node: cst.BaseExpression) -> cst.Call | None:
    """The call in this function that makes a sampler of torch's own class; None if it is made in another way."""
    call = definition_of(frame, node)
    if not isinstance(call, cst.Call):
        return None
    name = library_name_of(frame.engine.evaluate(frame, call.func))
    return call if library.canonical(name) == DISTRIBUTED_SAMPLER else None


def _gives_share(cls: ClassInfo) -> bool:
    """Whether a class leaves it to torch to deal the rows, or reads the rank for it."""
    method = cls.find("__iter__")
    return method is None or "rank" in names_in(method.node) or calls_super(method.node, "__iter__")


def _is_for_all(cls: ClassInfo) -> bool:
    """Whether a class of samplers passes on the number of ranks that it is given, or leaves it out."""
    init = cls.methods.get("__init__")
    if init is None:
        return True
    position, name = RANKS_OF_SAMPLER
    taken = {each.name for each in init.parameters}
    for call in of_class(init.node, cst.Call):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "__init__" and is_super(call.func.value):
            places = [each for each in call.args if each.keyword is None]
            given = [each for each in call.args if each.keyword is not None and each.keyword.value == name]
            given += places[position : position + 1]
            if any(not (isinstance(each.value, cst.Name) and each.value.value == name in taken) for each in given):
                return False
    return True


# --- rows -----------------------------------------------------------------------------------------------


def dealt(frame: Frame, node: cst.BaseExpression) -> Dealing | None:
    """Where the rows that an expression is have been dealt to all ranks; None if they are not known to be."""
    found = source(frame, node)
    return found if isinstance(found, Dealing) and not found.key else None


def source(frame: Frame, node: cst.BaseExpression, key: str = "") -> Dealing | Passed | None:
    """Where the rows that an expression is, or its entry of this key, have been dealt, or the parameter they are."""
    return _RowSearch(frame).source(node, key)


class _RowSearch:
    """A search for where rows come from. Each value is looked at once, and long ways are left out."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.seen: set[tuple[int, str]] = set()
        self.depth = 0

    def source(self, node: cst.BaseExpression, key: str) -> Dealing | Passed | None:
        if self.depth == _MAX_DEPTH or (id(node), key) in self.seen:
            return None
        self.seen.add((id(node), key))
        self.depth += 1
        found = self._source(node, key)
        self.depth -= 1
        return found

    def _source(self, node: cst.BaseExpression, key: str) -> Dealing | Passed | None:
        frame = self.frame
        match node:
            case cst.Name():
                return self._of_name(node, key)
            case cst.Attribute() if (attribute := self_attribute(node)) and frame.cls is not None:
                return _of_attribute(frame.cls, attribute)
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice() as share)]):
                is_own = is_share(frame, share, node)
                return Dealing(frame.step(node, OWN_ROWS), is_list=True) if is_own else None
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString(value=entry)))]):
                return None if key else self.source(node.value, entry)
            case cst.Subscript() if cut_rows(frame, node) is not None:
                return Dealing(frame.step(node, OWN_ROWS), is_list=True)
            case cst.ListComp(elt=element, for_in=cst.CompFor(target=target, iter=rows, ifs=tests)):
                if any(is_turn_of_all(frame, each.test) for each in tests):
                    return Dealing(frame.step(node, OWN_ROWS), is_list=True)
                return None if names_in(target).isdisjoint(names_in(element)) else self.source(rows, key)
            case cst.IfExp(body=rows, orelse=other) if is_literal_none(other):  # of a Trainer that may not train
                return self.source(rows, key)
            case cst.Call():
                return self._of_call(node, key)
        return None

    def _of_call(self, node: cst.Call, key: str) -> Dealing | Passed | None:
        run = self.frame.notes.of(DealtInRun)
        known = run.by_call.get(id(node)) or run.by_part.get((id(node), WHOLE))
        if known is not None:
            return _entry(known, key)
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in KEEPS_ROWS:
            return self.source(node.func.value, key)
        return self.source(node.args[0].value, key) if node.args and self._holds_rows(node.func) else None

    def _holds_rows(self, callee: cst.BaseExpression) -> bool:
        """Whether a call makes a data set of a library's that holds the rows that it is passed."""
        holders = [root for root, names in OF_OTHER_ROWS.items() if last_name(callee) in names]
        # What else is called is not looked at: a call in it, as in `model(batch).mean()`, would be run once more.
        if not holders or any(of_class(callee, cst.Call)):
            return False
        return key_of(library_name_of(self.frame.engine.evaluate(self.frame, callee)))[0] in holders

    def _of_name(self, name: cst.Name, key: str) -> Dealing | Passed | None:
        """The dealing of a value that a name may have where it is read: the last ones that are assigned before."""
        frame, replaced = self.frame, list[cst.If]()
        for target, value in reversed(_given_to(frame.root).get(name.value, ())):
            if precedes(frame.root, value, name):
                around = ancestors(frame.root, value)
                if any(each not in around for each in replaced):
                    return None
                found = self._of_assigned(target, value, name.value, key)
                if found is not None or (not isinstance(target, cst.Subscript) and is_on_way(frame, value, name)):
                    return found
                replaced += (each for each in around if isinstance(each, cst.If) and _assigns_twice(each, name.value))
        is_parameter = frame.function is not None and any(name.value == each.name for each in frame.function.parameters)
        return Passed(name.value, key) if is_parameter else None

    def _of_assigned(
        self, target: cst.BaseExpression, value: cst.BaseExpression, name: str, key: str
    ) -> Dealing | Passed | None:
        match target:
            case cst.Name():
                return self.source(value, key)
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
                stored = self.source(value, "")
                if isinstance(stored, Dealing) and not stored.key:
                    stored = replace(stored, key=index.value if isinstance(index, cst.SimpleString) else "")
                    return _entry(stored, key)
            case cst.Tuple(elements=elements):
                place = next(i for i, each in enumerate(elements) if name in _names_given(each.value))
                if isinstance(value, cst.Tuple) and len(value.elements) == len(elements):
                    return self.source(value.elements[place].value, key)
                return _entry(self.frame.notes.of(DealtInRun).by_part.get((id(value), place)), key)
        return None


def _entry(found: Dealing | Passed | None, key: str) -> Dealing | Passed | None:
    """An entry of rows, if `key` is not empty."""
    if found is None or not key:
        return found
    if isinstance(found, Passed):
        return None if found.key else replace(found, key=key)
    return replace(found, key="") if found.key in ("", key) else None


# Asked for each value that is returned or kept.
@tree_cache(64)
def _given_to(root: cst.CSTNode) -> Mapping[str, Sequence[tuple[cst.BaseExpression, cst.BaseExpression]]]:
    """By name, what is assigned to it, alone or among others, or to an entry of what it has: target and value."""
    found: dict[str, list[tuple[cst.BaseExpression, cst.BaseExpression]]] = defaultdict(list)
    for target, value in assignments(root):
        for name in _names_given(target):
            found[name].append((target, value))
    return found


def _names_given(target: cst.BaseExpression) -> set[str]:
    match target:
        case cst.Name(value=name) | cst.Subscript(value=cst.Name(value=name)):
            return {name}
        case cst.Tuple(elements=elements):
            return {each.value.value for each in elements if isinstance(each.value, cst.Name)}
    return set()


def _assigns_twice(branch: cst.If, name: str) -> bool:
    """Whether both branches of an `if` assign to a name."""
    parts = (branch.body, branch.orelse)
    return all(part is not None and name in _given_to(part) for part in parts)


def _of_attribute(cls: ClassInfo, name: str) -> Dealing | None:
    """What an object keeps of the rows, if its class assigns that attribute in one place only."""
    for each in cls.project_lineage():
        values = [value for target, value in assignments(each.node) if self_attribute(target) == name]
        count = sum(not is_literal_none(value) for value in values)
        if count:
            known = each.module.notes.of(Dealings).by_attribute.get((id(each.node), name))
            return known if count == 1 else None
    return None


def is_data_set(cls: ClassInfo) -> bool:
    """Whether objects of a class are data sets of torch."""
    return any(base.startswith(_DATA_SETS) for base in cls.library_bases())


def share_of_class(frame: Frame, cls: ClassInfo) -> Dealing | None:
    """The place where the data sets of a class take this rank's rows, by attributes that hold the ranks."""
    if not is_data_set(cls):
        return None
    for each in cls.project_lineage():
        for node, rank, size in shares_in(each.node):
            if is_rank(frame.read_attribute(cls, rank)) and _is_size_attribute(frame, cls, size):
                is_list = STREAMS.isdisjoint(cls.library_bases())
                return Dealing(Step(each.module, node, OWN_ROWS), is_list=is_list)
    return None


def _is_size_attribute(frame: Frame, cls: ClassInfo, name: str) -> bool:
    """Whether an attribute holds the number of all ranks, once it has more than the number it begins with."""
    number = frame.read_attribute(cls, name)
    if number is None or number.const is WORLD_SIZE:
        return number is not None
    init = cls.find("__init__")
    first = frozenset[Hashable]() if init is None else frozenset((id(init.node),))
    begins = any(
        self_attribute(target) == name and isinstance(value, cst.Integer)
        for target, value in (() if init is None else assignments(init.node))
    )
    return begins and cls.values_assigned_except(name, first).const is WORLD_SIZE


def is_on_way(frame: Frame, node: cst.CSTNode, place: cst.CSTNode, about: Collection[cst.BaseExpression] = ()) -> bool:
    """Whether all ways to a place lead through a node, apart from conditions that are known to hold.

    about: expressions that conditions may test for being there: `if loader is not None`.
    """
    around = {id(each) for each in ancestors(frame.root, place)}
    present = {frame.module.tree.code_for_node(each) for each in about}
    return all(
        id(each) in around or _holds(frame, each.test) or _tested_for(frame, each.test) in present
        for each in ancestors(frame.root, node)
        if isinstance(each, (cst.If, cst.IfExp))
    )


def may_be_left(frame: Frame, first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """Whether the function may be left between two places, by a `return` under a condition that may hold."""
    return any(
        isinstance(last_statement(each.body), cst.Return)
        and frame.value_of(each.test).const not in (False, WORLD_FALSE)
        and not (bool(ancestors(frame.root, first)) and precedes(frame.root, each, first))
        for each in exits_before(frame.root, second)
    )


def _tested_for(frame: Frame, test: cst.BaseExpression) -> str:
    """The text of what a condition wants to be there: `loader`, `loader is not None`; "" for another condition."""
    match test:
        case cst.Comparison(
            left=left, comparisons=[cst.ComparisonTarget(operator=cst.IsNot(), comparator=cst.Name(value="None"))]
        ):
            test = left
    return frame.module.tree.code_for_node(test) if isinstance(test, (cst.Attribute, cst.Name)) else ""


def _holds(frame: Frame, test: cst.BaseExpression) -> bool:
    """Whether a condition is decided where there are several ranks: the branch that runs is the one that was run."""
    const = frame.value_of(test).const
    return isinstance(const, bool) or const in _DECIDED


def are_own_indices(frame: Frame, node: cst.BaseExpression) -> bool:
    """`range(rank, len(rows), size)`, or a share of a list of indices."""
    indices = definition_of(frame, node)
    if isinstance(indices, cst.Call) and last_name(indices.func) == "list" and len(indices.args) == 1:
        indices = indices.args[0].value
    match indices:
        case cst.Call(args=[start, _, step]) if last_name(indices.func) == "range":
            return is_rank_at(frame, start.value) and is_size(frame, step.value)
    return dealt(frame, indices) is not None
