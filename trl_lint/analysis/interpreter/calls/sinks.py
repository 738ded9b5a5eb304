"""Sinks: the values passed to a log, and which of its entries differ between ranks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import libcst as cst

from trl_lint.analysis.events import Logged
from trl_lint.analysis.interpreter.calls import rows_of_batches
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import NUMERIC, Frame
from trl_lint.analysis.transfer.models.trained_apart import are_trained_unwrapped
from trl_lint.analysis.transfer.processes import for_other_ranks
from trl_lint.domain import ranks
from trl_lint.domain.kinds import NONE, ContainerValue, IterableValue, class_name_of
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.loggers import TAGS, WRITTEN_BY_EACH
from trl_lint.knowledge.schema import ANY, Sink


def show(frame: Frame, row: Sink, args: Arguments, node: cst.CSTNode) -> Value:
    """Report to the rules each value that differs between ranks in a call that logs metrics."""
    if _is_silent(frame, row, args) or _is_named_by_rank(frame, row, args):
        return NONE
    frame.trace.shows = True
    if row.payload is ANY:
        _show_all(frame, row, args, node)
        return NONE
    payload = args.get(*row.payload)
    if payload is not None:
        named = "" if row.form == "mapping" else _name_of(args)
        argument = args.node(*row.payload)
        expression = None if argument is None else argument.value
        report(
            frame,
            row.name,
            payload,
            node,
            mapping=row.form != "value",
            named=named,
            expression=expression,
            below=row.form == "below",
            evaluates=False if _says(row, args, True) else None,
        )
    elif row.form == "mapping":
        for value in args.keywords.values():
            report(frame, row.name, value, node, mapping=True)
    return NONE


def _name_of(args: Arguments) -> str:
    """The name that a call gives a metric, if it is known."""
    name = _tag(args)
    return name.const.replace("\0", "…") if isinstance(name.const, str) else ""


def _tag(args: Arguments) -> Value:
    """What a call gives as the name of a metric: the first argument, or one of the keywords for it."""
    if args.positional:
        return args.positional[0]
    return next((args.keywords[each] for each in TAGS if each in args.keywords), NONE)


def _is_named_by_rank(frame: Frame, row: Sink, args: Arguments) -> bool:
    """Whether each process writes a metric of its own, whose name has the number of the rank in it.

    `writer.add_scalar(f"loss/gpu-{rank}", loss, step)`
    """
    if row.name not in WRITTEN_BY_EACH or not _tag(args).rank.is_by_rank:
        return False
    return not any(Origin.RANK in each.rank.origins for each in frame.memory.control.conditions)


def _is_silent(frame: Frame, row: Sink, args: Arguments) -> bool:
    """Whether a call reduces what it logs itself, or logs it for one batch."""
    if row.only_in and not _says(row, args, True):
        name = frame.function.name if frame.function is not None else ""
        if not name or name in row.not_in or _says(row, args, False):
            return True
    unless = args.keywords.get(row.synchronises.unless) if row.synchronises is not None else None
    if not row.reduces or (unless is not None and unless.const is True):
        return False
    given = args.keywords.get(row.reduces)
    return args.double is not None or (given is not None and given.const is not False)


def _says(row: Sink, args: Arguments, of_epoch: bool) -> bool:
    """Whether a call says that it logs a metric of all data, or that it logs that of a batch."""
    given = args.keywords.get(row.always) if row.always else None
    return given is not None and given.const is of_epoch


def _show_all(frame: Frame, row: Sink, args: Arguments, node: cst.CSTNode) -> None:
    """A sink with unknown parameters logs all its arguments; a leading string is the name."""
    tag = _name_of(args)
    for index, value in enumerate(args.positional):
        report(frame, row.name, value, node, mapping=True, named=tag, expression=args.expression(index))
    for rest in (args.star, args.double):
        if rest is not None:
            report(frame, row.name, rest, node, mapping=True, named=tag)
    for name, value in args.keywords.items():
        report(frame, row.name, value, node, mapping=True, named=tag or name, expression=args.expression(name))


def report(
    frame: Frame,
    sink: str,
    payload: Value,
    node: cst.CSTNode,
    *,
    mapping: bool,
    named: str = "",
    expression: cst.CSTNode | None = None,
    below: bool = False,
    evaluates: bool | None = None,
) -> None:
    """Report to the rules every value in a sink's argument that differs between ranks.

    For a single value, `named` is its name, and `expression` its code. below: whether the values are logged below that
    name. Outside of any statement, the one that wrote the value is reported, if it is known. evaluates: see `Logged`.
    """
    if frame.memory.control.is_chosen_by_rank and for_other_ranks.are_met(frame, node):
        return
    for key, value in islice(entries(frame, payload, 3 if mapping else 1), _MAX_SHOWN):
        what = f"{named}/{key}" if below and named and key else key or named
        if frame.statement is None and not value.writes:
            continue
        if value.rank.differs and value.kind in NUMERIC and not are_trained_unwrapped(frame):
            marked = frame.written(value, what, expression if value is payload else None)
            if rows_of_batches.is_alike(frame, sink, marked):
                continue
            writes = frozenset(each.named(what) for each in marked.writes) if what != (key or named) else marked.writes
            frame.emit(
                Logged,
                node,
                tag=(sink, what, value.writes),
                sink=sink,
                what=what,
                value=value,
                writes=writes,
                by_each=_is_written_by_each(frame, sink, node),
                by_some=_is_written_by_some(frame, node),
                evaluates=evaluates,
            )


def _is_written_by_each(frame: Frame, sink: str, node: cst.CSTNode) -> bool:
    """Whether each process that runs this has a writer of its own, and nothing here keeps some of them away."""
    if sink not in WRITTEN_BY_EACH or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    writer = frame.value_of(node.func.value)
    is_of_each = bool(class_name_of(writer)) and writer.absence is None and not writer.rank.differs
    return is_of_each and all(each.rank == ranks.SETTING for each in frame.memory.control.conditions)


def _is_written_by_some(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether the writer is one that only some ranks have: `writer = SummaryWriter() if rank == 0 else None`."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    writer = frame.value_of(node.func.value)
    return writer.absence is not None or writer.rank.differs


# The most metrics of one call that are checked: containers may hold each other.
_MAX_SHOWN = 10_000


def entries(frame: Frame, payload: Value, depth: int) -> Iterator[tuple[str, Value]]:
    """The metrics in a sink's argument, by name."""
    if isinstance(payload, ContainerValue) and depth > 0:
        frame.consume(payload)
        for cell in frame.memory.cells(payload):
            for key, value in cell.entries.items():
                name = key.replace("\0", "…") if isinstance(key, str) else ""
                for inner, found in entries(frame, value, depth - 1):
                    yield inner or name, found
            if cell.rest is not None:
                yield from entries(frame, cell.rest, depth - 1)
    elif isinstance(payload, IterableValue):
        yield from entries(frame, payload.element, depth - 1)
    elif payload.kind not in (Kind.CONTAINER, Kind.TUPLE):
        yield "", payload
