"""Loaders, samplers and data sets of libraries that give each rank data of its own, and data sets of a rank's share.

Each of these is looped over like a loader whose batches are this rank's own:

    create_loader(rows, distributed=args.distributed)         of timm
    build_detection_train_loader(cfg)                         of detectron2
    StreamingDataset(local=folder)                            of streaming, which a DataLoader is given
    WebDataset(urls, nodesplitter=split_by_node).shuffle(9)   of webdataset
    NeighborLoader(data, [9], input_nodes=nodes[rank::size])  of torch_geometric

These are not, or may not be:

    create_loader(rows, distributed=is_training)
    WebDataset(urls, nodesplitter=None)
    NeighborLoader(data, [9], input_nodes=nodes)

A data set that a library makes of this rank's share is one: `CacheDataset(rows[rank::size], transform)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.syntax import assigned_once, last_name, names_in, of_class, resolved
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import explain
from trl_lint.analysis.transfer.data import own_shares
from trl_lint.domain import ranks
from trl_lint.domain.constants import WORLD_TRUE
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import LoaderValue, is_none, library_name_of
from trl_lint.domain.loader_samplers import ShufflingSampler
from trl_lint.domain.provenance import FullBatches
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import heuristics, library
from trl_lint.knowledge import sharing_loaders as table
from trl_lint.knowledge.datasets import COUNT_OF_PARTS, NUMBER_OF_PART, NUMBERED_PART
from trl_lint.knowledge.schema import LOADED_BATCH, LOADER
from trl_lint.knowledge.sharding import STREAMS
from trl_lint.knowledge.torch_distributed import SHARDING_SAMPLER

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.knowledge.schema import Function as FunctionRow
    from trl_lint.knowledge.schema import Parameter

_OWN_BATCHES = "each rank gets its own batches from this loader"
_OWN_ROWS = "each rank gets its own rows of this data set"


def called(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
    """What a library makes by which each rank gets data of its own; None for anything else."""
    key = table.key_of(name)
    if key in table.SAMPLERS:
        return SHARDING_SAMPLER.replace(const=WORLD_TRUE)
    if key in table.SAMPLERS_OF_ANY_RUN:
        return SHARDING_SAMPLER
    loader = table.LOADERS.get(key)
    if loader is not None:
        return _loader(frame, loader, args, node)
    data = table.DATA.get(key)
    if data is not None:
        return _rows(frame, node) if _shares(data, args) else None
    if key in table.PIPELINES:
        return _of_pipeline(frame, args, node)
    if key[0] == table.WEBDATASET:
        return _of_webdataset(frame, key[1], args, node)
    if key[1] in table.OF_OTHER_ROWS.get(key[0], ()):
        return _of_share(frame, args)
    return _contents(frame, args) if name in table.READ_FILES else None


def _rows(frame: Frame, node: cst.CSTNode) -> Value:
    """A data set: what one reads of it but by looping over it is unknown."""
    return _of_batch(explain(frame, LOADED_BATCH, node, _OWN_ROWS))


def _of_batch(batch: Value) -> Value:
    return LOADER.replace(rank=ranks.UNKNOWN).with_parts(batch, None)


# --- loaders and data sets ---


def _loader(frame: Frame, row: table.SharingLoader, args: Arguments, node: cst.CSTNode) -> Value | None:
    if _shares(row, args):
        training = None if row.shuffles is None else args.get(*row.shuffles)
        shuffles = training is not None and training.const is True and not _is_stream(frame, args, row.data)
        sampler = ShufflingSampler(frame.module, node, in_loader=True) if shuffles else None
        return LOADER.with_parts(explain(frame, LOADED_BATCH, node, _OWN_BATCHES), sampler)
    own = None if row.rows is None else own_shares.batch_of(frame, args, row.rows)
    return None if own is None else LOADER.with_parts(own, None)


def _is_stream(frame: Frame, args: Arguments, parameter: Parameter) -> bool:
    """Whether a data set is one without indices, for which a loader has no sampler: a class says it, or its name."""
    data, given = args.get(*parameter), args.node(*parameter)
    cls = None if data is None else class_of(data)
    if cls is not None and not STREAMS.isdisjoint(cls.library_bases()):
        return True
    made = None if given is None else resolved(frame.root, given.value)
    if not isinstance(made, cst.Call) or last_name(made.func) != table.TIMM_DATA or not made.args:
        return False
    name = frame.known_value(made.args[0].value)
    return name is not None and isinstance(name.const, str) and name.const.startswith(table.TIMM_STREAMS)


def _shares(row: table.SharingLoader, args: Arguments) -> bool:
    is_said = row.given is not None and args.get(*row.given) is not None
    if not row.unless.isdisjoint(args.keywords) or (args.double is not None and not is_said):
        return False
    return row.given is None or _is_true(args, row.given, default=row.default)


def _is_true(args: Arguments, parameter: Parameter, *, default: bool = False) -> bool:
    """Whether an argument is true on several processes, as far as its value or its name tells."""
    value, given = args.get(*parameter), args.node(*parameter)
    if value is None:
        return default
    if value.const is True or value.const is WORLD_TRUE:
        return True
    if given is None or isinstance(value.const, bool) or is_none(value) or value.rank.differs:
        return False
    asked = given.value.func if isinstance(given.value, cst.Call) else given.value
    return heuristics.SAYS_DISTRIBUTED.fits(last_name(asked))


def _of_share(frame: Frame, args: Arguments) -> Value | None:
    """A data set of rows that this rank has chosen."""
    rows = (value for key, value in args.named() if key not in table.NO_ROWS)
    batches = (own_shares.batch_of_data(frame, each) for each in rows)
    own = next((each for each in batches if each is not None), None)
    return None if own is None else _of_batch(own)


def divided(row: FunctionRow, args: Arguments, receiver: Value | None, value: Value) -> Value:
    """The part of a data set with a number: the same on all ranks if the number is, as one of ten parts may be."""
    number, count = args.get(*NUMBER_OF_PART), args.get(*COUNT_OF_PARTS)
    if receiver is None or number is None or number.rank.differs or not row.name.endswith(NUMBERED_PART):
        return value
    is_any = count is not None and isinstance(count.const, int)
    return receiver if number.rank.is_uniform or is_any else value


def _contents(frame: Frame, args: Arguments) -> Value | None:
    """What is in a file of this rank's share of files; None for any other file.

    A path that is made of the number of the rank is one of a checkpoint, or of a log, as likely as of data.
    """
    given, file = args.expression(0), args.positional[0] if args.positional else None
    if isinstance(given, cst.Call) and last_name(given.func) == "open" and given.args:
        given = given.args[0].value
        file = frame.known_value(given)
    if file is None or given is None or not file.rank.differs:
        return None
    is_share = file.rank.origins == _OF_SHARE or (file.rank.is_by_rank and _is_item(frame, given))
    return derived(ranks.RANK_LOCAL, Kind.UNKNOWN, file) if is_share else None


def _is_item(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an expression is what a loop goes through, or an item of something."""
    if isinstance(node, cst.Name):
        targets = [each.target for each in of_class(frame.root, cst.For)]
        targets += [each.target for each in of_class(frame.root, cst.CompFor)]
        if any(node.value in names_in(target) for target in targets):
            return True
        return isinstance(assigned_once(frame.root, node.value), cst.Subscript)
    return isinstance(node, cst.Subscript)


# Of the files that a folder lists, those that the rank has chosen.
_OF_SHARE = Origin.RANK | Origin.IO


def _of_pipeline(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value | None:
    """A loader of a pipeline of DALI that is told here which part to read, by the number of the rank."""
    given = args.expression(0)
    if isinstance(given, cst.List) and given.elements:
        given = given.elements[0].value
    made = assigned_once(frame.root, given.value) if isinstance(given, cst.Name) else given
    told = {each.keyword.value: each.value for each in made.args if each.keyword} if isinstance(made, cst.Call) else {}
    part = frame.known_value(told.get(table.PART_OF_PIPELINE))
    if part is None or not part.rank.is_by_rank or table.PARTS_OF_PIPELINE not in told:
        return None
    return LOADER.with_parts(explain(frame, LOADED_BATCH, node, _OWN_BATCHES), None)


# --- webdataset ---


def _of_webdataset(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
    if name == table.WEB_DATA:
        splitter = args.get(*table.SPLITTER)
        splits = _is_splitter(splitter) or _is_resampled(args)
        return _rows(frame, node) if splits else None
    if name in table.WEB_RESAMPLED:
        return _rows(frame, node)
    if name == table.WEB_PIPELINE:
        steps = [*args.positional, *_starred(frame, args, node)]
        is_own = any(_is_splitter(each) or isinstance(each, LoaderValue) for each in steps)
        return _rows(frame, node) if is_own else None
    if name == table.WEB_LOADER:
        data = args.get(0, "dataset")
        return data if isinstance(data, LoaderValue) else None
    return None


def _is_resampled(args: Arguments) -> bool:
    resampled = args.get(*table.RESAMPLED)
    return resampled is not None and resampled.const is True


def _is_splitter(value: Value | None) -> bool:
    key = table.key_of(library.canonical(library_name_of(value)))
    return key[0] == table.WEBDATASET and key[1] in table.WEB_SPLITTERS


def _starred(frame: Frame, args: Arguments, node: cst.CSTNode) -> Iterator[Value]:
    """The values of a list that is passed as the steps, `DataPipeline(*steps)`: those that it certainly has."""
    if args.star is None or not isinstance(node, cst.Call):
        return
    for each in node.args:
        if each.star == "*":
            steps = containers.positions_of(frame, frame.value_of(each.value))
            yield from _displayed(frame, each.value) if steps is None else steps


def _displayed(frame: Frame, node: cst.BaseExpression) -> Iterator[Value]:
    """The values of a list, or of the one that a name is first bound to, as its code gives them."""
    node = resolved(frame.root, node)
    if isinstance(node, cst.List):
        yield from (frame.value_of(each.value) for each in node.elements)


def with_step(receiver: Value, name: str, value: Value) -> Value:
    """`data.shuffle(9)`: data of webdataset, or its loader, with one more step, that gives each rank its own rows."""
    if not isinstance(receiver, LoaderValue) or receiver.batch is None or name not in table.WEB_STEPS:
        return value
    if value.kind is not Kind.UNKNOWN or not receiver.batch.rank.differs:
        return value
    batch, step = receiver.batch, value.provenance
    if isinstance(step, FullBatches):
        batch = batch.replace(provenance=step)
    return receiver.with_parts(batch, None)
