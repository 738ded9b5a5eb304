"""Data that a rank takes by hand: what is computed from it is this rank's own, as from the batches of a sampler.

For example, each of these is local to the rank, and what a model returns for it is this rank's own data:

    rows[rank::size]
    rows[rank * each : (rank + 1) * each]
    [row for i, row in enumerate(rows) if i % size == rank]
    rows[i]                                      in a loop over `range(rank, len(rows), size)`
    rows.shard(size, rank)
    DataLoader(rows, sampler=order[rank::size])  the batches of this loader,
    DataLoader(rows[rank::size])                 the batches of this loader, and of one of `Rows(files[rank::size])`
                                                 or of `Rows(dataset.shard(size, rank))`, or if the class of the
                                                 rows has kept such a part of them to give
    if i % size == rank: loss = model(row)       what is computed in this rank's turns
    x, y = loader.next_batch()                   of tokens that a loader of the project cuts by the rank: `model(x, y)`

The number of the rank itself, and an object or a text that is made of it, is no data (`model(x, rank)`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.idioms.own_rows import rows_given_by
from trl_lint.analysis.program.syntax import ancestors, assignments, innermost, resolved, used_names
from trl_lint.analysis.transfer.data.kept_rows import own_row
from trl_lint.analysis.transfer.data.own_streams import (
    gives_all_dealt,
    gives_own_rows,
    gives_rows,
    has_length_of_rows,
)
from trl_lint.domain import ranks
from trl_lint.domain.constants import WORLD_SIZE
from trl_lint.domain.derived import derived
from trl_lint.domain.joins import join_all
from trl_lint.domain.kinds import IterableValue, LoaderValue, SamplerForOne, is_none
from trl_lint.domain.numbers import is_one
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import heuristics
from trl_lint.knowledge.schema import LOADED_BATCH
from trl_lint.knowledge.sharing_loaders import shares_itself
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER, RANKS_OF_SAMPLER, ROWS_OF_LOADER

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.knowledge.schema import Parameter

# Kinds of values that are rows if they differ by the rank; a tensor may as well be a generator or a mask.
_ROWS = frozenset({Kind.BATCH, Kind.NUMBER_LIST, Kind.UNKNOWN})
# Kinds of what picks rows: the number of the rank, and indices that begin with it.
_PICKS = frozenset({Kind.NUMBER, Kind.NUMBER_LIST, Kind.UNKNOWN})
# Kinds of what tells a model how to compute.
_SETTINGS = frozenset({Kind.NONE, Kind.NUMBER, Kind.STRING})
_OF_SHARE = Origin.RANK | Origin.DATA
# The number of the rank, times a number of files, or in a file that is found by its name.
_OF_PLACE = Origin.RANK | Origin.IO


def of_forward(frame: Frame, args: Arguments, output: Rank) -> Rank:
    """The fact of what a model computes: this rank's own data if the rank has chosen the input by its number."""
    if output.is_by_place:
        chosen = any(is_share(frame, value) for value in args.all()) or _are_tensors(args)
        return output._replace(origins=_OF_SHARE) if chosen else output
    if not output.differs and not output.is_reduced and _in_turn(frame, args):
        return Rank(State.LOCAL, _OF_SHARE)
    return output


def of_module(frame: Frame, args: Arguments, output: Value) -> Value:
    """The output of a module of torch, like that of a model."""
    rank = of_forward(frame, args, output.rank)
    return output if rank is output.rank else output.replace(rank=rank)


def is_share(frame: Frame, value: Value) -> bool:
    """Whether a value is data that this rank has chosen by its number."""
    element = element_of(frame, value)
    return element.rank.is_by_place and element.kind in _ROWS


def element_of(frame: Frame, value: Value) -> Value:
    """An element of a list or an iterable; any other value itself."""
    if isinstance(value, IterableValue):
        return value.element
    frame.consume(value)
    cells = [each for each in frame.memory.cells(value) if each.shape != "dict"]
    return join_all(each.element() for each in cells) if cells else value


def _are_tensors(args: Arguments) -> bool:
    """Whether all that a model gets are tensors that differ by the rank, and settings: `model(x, y, logits=False)`.

    A tensor that is the same on all ranks may be the input, and what differs by the rank a mask, or an index into it.
    """
    rest = [each for each in args.all() if not (each.kind is Kind.TENSOR and each.rank.is_by_place)]
    return len(rest) < len(args.all()) and all(each.kind in _SETTINGS and each.rank.is_uniform for each in rest)


def _in_turn(frame: Frame, args: Arguments) -> bool:
    """Whether a call gets what a loop goes through, in this rank's turn: after its test `i % size == rank`."""
    if not any(each.rank.is_by_rank for each in frame.memory.control.conditions):
        return False
    used = frozenset[str]().union(*(used_names(each) for each in args.nodes.values()))
    for each in frame.memory.control.conditions:
        test = place_of(each)
        if each.rank.is_by_rank and test is not None and is_turn(frame, test):
            loop = innermost(frame.root, test, cst.For)
            if loop is not None and not used.isdisjoint(_bound_in(loop)):
                return True
    return False


def is_of_own_loop(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether a call uses what a loop around it goes through, if these are things that the rank has chosen."""
    loops = [each for each in ancestors(frame.root, call) if isinstance(each, cst.For)]
    bound = frozenset[str]().union(*(used_names(each.target) for each in loops)) & used_names(call)
    return any(name in frame.memory.names and frame.memory.names[name].rank.is_by_place for name in bound)


def _bound_in(loop: cst.For) -> set[str]:
    """The names of what a loop goes through, and those that its body assigns."""
    assigned = (used_names(target) for target, _ in assignments(loop.body))
    return used_names(loop.target).union(*assigned)


def is_turn(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a test compares a remainder with the number of the rank."""
    match test:
        case cst.Comparison(
            left=left,
            comparisons=[cst.ComparisonTarget(operator=cst.Equal() | cst.NotEqual(), comparator=right)],
        ):
            return any(_is_remainder(one) and _is_rank(frame, other) for one, other in ((left, right), (right, left)))
    return False


def _is_remainder(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo)


def _is_rank(frame: Frame, node: cst.BaseExpression) -> bool:
    value = frame.value_of(node)
    return value.kind is Kind.NUMBER and value.rank.is_by_rank


def batch_of(frame: Frame, args: Arguments, parameter: Parameter = ROWS_OF_LOADER) -> Value | None:
    """A batch of a loader of this rank's own data; None for other loaders. parameter: the one for the data."""
    data, given = args.get(*parameter), args.node(*parameter)
    if data is None:
        return None
    share = _given_to(frame, given.value) if isinstance(data, ProjectInstance) and given is not None else None
    return batch_of_data(frame, data) if share is None else _batch_of_rows(share)


def _given_to(frame: Frame, node: cst.BaseExpression) -> Value | None:
    """The rows that a data set is made of, if this rank has chosen them: `Rows(files[rank::size])`."""
    made = resolved(frame.root, node)
    given = [frame.known_value(each.value) for each in made.args] if isinstance(made, cst.Call) else []
    share = next((each for each in given if each is not None and (_is_dealt(each) or is_share(frame, each))), None)
    return None if share is None else element_of(frame, share)


def _is_dealt(rows: Value) -> bool:
    """Whether rows are the share of a data set that a library's method has given this rank."""
    return rows.kind is Kind.BATCH and rows.rank.state is State.SHARD


def is_picked_by_rank(frame: Frame, sampler: Value | None) -> bool:
    """Whether a sampler is a list of the rows of this rank, by its number: `list(range(rank, length, size))`."""
    if sampler is None or isinstance(sampler, ProjectInstance):
        return False
    picked = element_of(frame, sampler)
    return picked.rank.is_by_rank and picked.kind in _PICKS | _ROWS | {Kind.TENSOR}


def batch_of_data(frame: Frame, data: Value) -> Value | None:
    """A batch of data that this rank has chosen, or that a library divides; None for other data."""
    if isinstance(data, ProjectInstance):
        if gives_own_rows(frame, data.cls):
            return _of_dealt() if gives_all_dealt(frame, data.cls) else LOADED_BATCH
        kept = _kept_rows(frame, data.cls)
        if kept is not None:
            return _of_dealt() if kept.rank.how == ranks.DEALT and has_length_of_rows(data.cls) else LOADED_BATCH
        if shares_itself(data.cls.library_bases()):
            return LOADED_BATCH if data.cls.find("__iter__") is None else None
    kept = own_row(frame, data)
    if kept is not None:
        return _batch_of_rows(kept)
    rows = _with_length(frame, data, element_of(frame, data))
    if isinstance(rows, LoaderValue):
        return rows.batch if rows.batch is not None and rows.batch.rank.differs else None
    if rows.kind not in _ROWS | {Kind.TENSOR} or not rows.rank.differs or rows.rank.origins & ~(_OF_SHARE | _OF_PLACE):
        return None
    return _batch_of_rows(rows)


def _kept_rows(frame: Frame, cls: ClassInfo) -> Value | None:
    """The rows that a data set gives, of an attribute that holds those which the rank has chosen, or their files."""
    if not gives_rows(cls):
        return None
    values = (frame.read_attribute(cls, name) for each in cls.project_lineage() for name in rows_given_by(each.node))
    kept = next((each for each in values if each is not None and _are_own_rows(frame, each)), None)
    return None if kept is None else _with_length(frame, kept, element_of(frame, kept))


def _are_own_rows(frame: Frame, rows: Value) -> bool:
    """Whether some rows, or the names of several files, are those that the rank has chosen."""
    element = element_of(frame, rows)
    kinds = _ROWS | ({Kind.TENSOR} if element is rows else {Kind.STRING, Kind.TENSOR})
    return element.rank.is_by_place and element.kind in kinds


def _batch_of_rows(rows: Value) -> Value:
    origins = rows.rank.origins & _OF_SHARE | Origin.DATA
    how = ranks.DEALT if rows.rank.how == ranks.DEALT else ""
    return LOADED_BATCH.replace(rank=Rank(State.SHARD, origins, how), provenance=rows.provenance)


def batch_of_sampler(frame: Frame, args: Arguments, key: str) -> Value:
    """A batch of a loader of rows that a sampler gives this rank: its number may differ if the rank picks them."""
    sampler = args.keywords[key]
    if isinstance(sampler, ProjectInstance):
        return _of_dealt() if gives_all_dealt(frame, sampler.cls) else LOADED_BATCH
    picked = _with_length(frame, sampler, element_of(frame, sampler))
    return _of_dealt() if picked.rank.how == ranks.DEALT else LOADED_BATCH


def _of_dealt() -> Value:
    """A batch of rows of which some ranks may have more than others."""
    return LOADED_BATCH.replace(rank=Rank(State.SHARD, _OF_SHARE, ranks.DEALT))


def _with_length(frame: Frame, rows: Value, element: Value) -> Value:
    """An element of rows, which says whether this rank may have more of them than others."""
    lengths = [rows.length] if isinstance(rows, IterableValue) else [each.length for each in frame.memory.cells(rows)]
    if len(lengths) != 1 or lengths[0].how != ranks.DEALT or element.rank.how or not element.rank.differs:
        return element
    return element.replace(rank=element.rank._replace(how=ranks.DEALT))


def are_for_all(args: Arguments, place: int = RANKS_OF_SAMPLER[0]) -> bool:
    """Whether a sampler with these arguments deals to all ranks. place: that of the parameter for their number."""
    size = args.get(place, RANKS_OF_SAMPLER[1])
    return args.star is None and args.double is None and (size is None or is_none(size) or size.const is WORLD_SIZE)


def told_of_ranks(args: Arguments, sampler: Value) -> Value:
    """A DistributedSampler that is told this: of how many ranks, or of one process, to which it gives all rows."""
    size = args.get(*RANKS_OF_SAMPLER)
    if size is not None and is_one(size):
        return SamplerForOne(DISTRIBUTED_SAMPLER).with_facts_of(sampler.replace(rank=ranks.UNKNOWN))
    return sampler if are_for_all(args) else sampler.replace(rank=ranks.UNKNOWN)


def picked_by(frame: Frame, args: Arguments, name: str) -> Value | None:
    """The rows that a call picks by the number of the rank; None for other calls. name: that of the callee.

    `rows.shard(size, rank)`, `Subset(rows, range(rank, len(rows), size))`
    """
    if not heuristics.PICKS_ROWS.fits(name):
        return None
    picks = (_with_length(frame, each, element_of(frame, each)) for each in args.all())
    by_rank = next((each for each in picks if each.rank.is_by_rank and each.kind in _PICKS), None)
    if by_rank is None:
        return None
    rank = ranks.DEALT_BY_RANK if by_rank.rank.how == ranks.DEALT else ranks.RANK_LOCAL
    return derived(rank, Kind.UNKNOWN, by_rank)


def sliced(frame: Frame, node: cst.CSTNode, index: Value, part: Value) -> Value:
    """A part of rows of which nothing is known: this rank's own if the number of the rank decides where it begins."""
    if not part.is_unknown or not starts_apart(frame, node):
        return part
    return derived(ranks.RANK_LOCAL, Kind.UNKNOWN, index)


def starts_apart(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a slice begins at a place that the number of the rank decides: `rows[rank::size]`."""
    index = node.slice[0].slice if isinstance(node, cst.Subscript) and len(node.slice) == 1 else None
    start = index.lower if isinstance(index, cst.Slice) else None
    origins = frame.value_of(start).rank.origins
    return Origin.RANK in origins and not origins & ~_OF_PLACE
