"""Collectives: the result of each, and what the ranks have exchanged in it."""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.analysis.interpreter.conditions import compared_with_own
from trl_lint.analysis.interpreter.objects import assignment, kept_tensors, settings_classes
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame, Place, explain
from trl_lint.analysis.state.refining import Exchange
from trl_lint.analysis.transfer.processes import first_rank, groups
from trl_lint.analysis.transfer.tensors import tensor_shapes
from trl_lint.domain import ranks
from trl_lint.domain.derived import derived
from trl_lint.domain.entries import NumberEntry
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import BLANKS, NONE, ContainerValue, TensorValue, TupleValue, library_name_of
from trl_lint.domain.ranks import State
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value
from trl_lint.knowledge.accelerate import CUTS_REST
from trl_lint.knowledge.engines import DROPS_LAST
from trl_lint.knowledge.schema import ANY, Collective

_GATHERS = Exchange("gathered")


def collective(frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> Value:
    """Report a collective to the rules, and apply it to the facts."""
    for observe in frame.observers.collective:
        observe(frame, row, args, node)
    if row.result == "barrier":
        first_rank.note_barrier(frame)
        return NONE
    if row.operand is ANY:
        return _unspecified_collective(frame, row, args, node)
    operand = args.get(*row.operand)
    if operand is None:
        return _starred_collective(frame, row, args, node)
    compared_with_own.note(frame, row, args, node)
    result = _communicated(frame, row, args, operand, node)
    if row.into is not None:
        target = args.node(*row.into)
        receiver = args.get(*row.into)
        if target is not None and receiver is not None:
            _receive(frame, target.value, receiver, result)
        return result if row.returned else NONE
    return result


# Kinds of arguments of a user-defined collective that are not what it communicates.
_BESIDES = frozenset({
    Kind.BOUND, Kind.CLASS, Kind.FUNCTION, Kind.INSTANCE, Kind.LOADER, Kind.MODEL, Kind.MODULE, Kind.NONE, Kind.STRING,
})  # fmt: skip


def _unspecified_collective(frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> Value:
    """A collective with unknown parameters: the first data among its arguments is its operand."""
    operand = next((value for value in args.all() if value.kind not in _BESIDES), None)
    if frame.discarded is node:
        _apply_in_place(frame, row, args, operand, node)
    return Value(ranks.REDUCED) if operand is None else _result(frame, row, operand, node)


def _apply_in_place(frame: Frame, row: Collective, args: Arguments, operand: Value | None, node: cst.CSTNode) -> None:
    """A collective whose result is discarded changes its operand: a tensor by its row, other values unpredictably."""
    argument = next((args.nodes.get(key) for key, value in args.named() if value is operand), None)
    is_known = row.result in ("broadcast", "reduced")
    if is_known and argument is not None and operand is not None and operand.kind in (Kind.TENSOR, Kind.UNKNOWN):
        assignment.rebind(frame, argument.value, _result(frame, row, operand, node))
    else:
        frame.engine.unresolved(frame, args, node)


def _starred_collective(frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> Value:
    """`gather(*values)`: the operand is one of the starred values."""
    starred = next((arg for arg in node.args if arg.star == "*"), None) if isinstance(node, cst.Call) else None
    if args.star is None or starred is None or not row.fails:
        return SAME if args.all() else UNKNOWN
    frame.emit(CollectiveCalled, node, row=row, operand=args.star, argument=starred, parts=(args.star,))
    return _result(frame, row, args.star, node)


def _communicated(frame: Frame, row: Collective, args: Arguments, operand: Value, node: cst.CSTNode) -> Value:
    objects = args.get(*row.objects) if row.objects is not None else None
    if objects is not None and objects.const is not False:
        return _gathered_objects(frame, operand, node)
    argument = args.node(*row.operand)
    if argument is not None and (row.fails or row.same_shapes):
        frame.emit(
            CollectiveCalled,
            node,
            row=row,
            operand=operand,
            argument=argument,
            numbers=_numbers(frame, operand),
            parts=parts_of(frame, operand),
            received=_received(frame, row, args),
            accelerator=frame.accelerator(),
            stepping=frame.stepping,
            groups=tuple(groups.groups_of(row, args)),
            full_batches=row.name == CUTS_REST and settings_classes.is_always_set(frame, DROPS_LAST),
        )
    return _result(frame, row, operand, node, _reduction(row, args), args)


def _reduction(row: Collective, args: Arguments) -> str:
    """The reduction of a collective: "" if it does not reduce, "?" if it is not known."""
    if row.reduction is None:
        return ""
    operation = args.get(*row.reduction[:2])
    if operation is None:
        return row.reduction[2]
    dotted = operation.const if isinstance(operation.const, str) else library_name_of(operation)
    name = dotted.rpartition(".")[2].lower() if dotted else "?"
    return {"avg": "mean"}.get(name, name)


def parts_of(frame: Frame, operand: Value, depth: int = 2) -> tuple[Value, ...]:
    """The tensors passed to a collective: the operand, or the contents of its containers."""
    if isinstance(operand, TupleValue) and depth:
        return tuple(part for item in operand.items for part in parts_of(frame, item, depth - 1))
    if isinstance(operand, ContainerValue) and depth:
        cells = frame.memory.cells(operand)
        return tuple(part for cell in cells for item in cell.values() for part in parts_of(frame, item, depth - 1))
    return (operand,)


def _received(frame: Frame, row: Collective, args: Arguments) -> tuple[Value, ...]:
    """The tensors that a collective fills, if they are not its operand."""
    receiver = args.get(*row.into) if row.into is not None and row.into != row.operand else None
    return () if receiver is None else parts_of(frame, receiver)


def _numbers(frame: Frame, operand: Value) -> tuple[NumberEntry, ...]:
    """The entries of a dict (or the items of a list) that are Python numbers."""
    if not isinstance(operand, ContainerValue):
        return ()
    found = []
    for cell in frame.memory.cells(operand):
        for key, value in cell.entries.items():
            if value.kind in (Kind.NUMBER, Kind.NUMBER_LIST):
                found.append(NumberEntry(cell.shape, str(key)))
        if cell.rest is not None and cell.rest.kind in (Kind.NUMBER, Kind.NUMBER_LIST):
            found.append(NumberEntry(cell.shape))
    return tuple(found)


def _result(
    frame: Frame, row: Collective, operand: Value, node: cst.CSTNode, reduction: str = "", args: Arguments | None = None
) -> Value:
    if operand.rank.state is State.BOTTOM:
        return operand
    if row.result == "padded":
        return tensor_shapes.padded(frame, operand, args or Arguments(), node)
    if row.result == "objects":
        return _gathered_objects(frame, operand, node)
    if row.result == "messages":
        return UNKNOWN  # one per rank, and all may be the same
    if row.result == "scattered":
        return explain(frame, TensorValue(ranks.SHARD), node, "each rank receives its own part")
    how = reduction or (row.reduction[2] if row.reduction is not None else row.result)
    exchange = Exchange(how, _has_backward(row, args))
    result = gathered(frame, operand, node, scalar=row.result in ("reduced", "broadcast"), exchange=exchange)
    has_all = row.root is None or result.rank != ranks.REDUCED
    return result if has_all else result.replace(rank=ranks.REDUCED_TO_ONE)


def _has_backward(row: Collective, args: Arguments | None) -> bool:
    if not isinstance(row.backward, tuple):
        return row.backward
    asked = None if args is None else args.get(*row.backward)
    return asked is not None and asked.const is not False


def gathered(frame: Frame, value: Value, node: cst.CSTNode, scalar: bool, exchange: Exchange = _GATHERS) -> Value:
    """A value after a collective that gathers or reduces: the same on all ranks; containers entry by entry."""

    def communicated(item: Value, _: Place) -> Value:
        return _communicated_item(frame, item, node, scalar, exchange)

    def rebuild(cell: Cell, entries: dict[Hashable, Value], rest: Value | None) -> Cell:
        return Cell(cell.shape, entries, rest)

    return containers.map_items(frame, value, node, communicated, rebuild)


def _communicated_item(frame: Frame, value: Value, node: cst.CSTNode, scalar: bool, exchange: Exchange) -> Value:
    is_filled = exchange.how == "broadcast" and value.kind is Kind.NONE  # the place of what another rank sends
    if value.kind is Kind.CONTAINER or is_filled:
        return Value(ranks.REDUCED)
    kind = Kind.TENSOR if value.kind in (Kind.TENSOR, Kind.BATCH, Kind.NUMBER, Kind.NUMBER_LIST) else value.kind
    result = derived(ranks.REDUCED, kind, dtype=value.dtype, scalar=scalar and value.scalar)
    return _refined(frame, value, exchange, node, result)


def _refined(frame: Frame, operand: Value, exchange: Exchange, node: cst.CSTNode, value: Value) -> Value:
    for refine in frame.domains.collected:
        value = refine(frame, operand, exchange, node, value)
    return value


def _gathered_objects(frame: Frame, operand: Value, node: cst.CSTNode) -> Value:
    """The Python objects of all ranks in one list."""
    is_several = operand.kind in (Kind.CONTAINER, Kind.ITERABLE, Kind.TUPLE)
    element = containers.iterate(frame, operand)[0] if is_several else operand
    return frame.allocate(node, Cell("list", rest=_made_uniform(frame, element, node)))


def _made_uniform(frame: Frame, element: Value, node: cst.CSTNode) -> Value:
    if isinstance(element, TupleValue):
        return TupleValue(ranks.REDUCED, tuple(_made_uniform(frame, item, node) for item in element.items))
    cls = BLANKS[element.kind] if element.kind in (Kind.NUMBER, Kind.TENSOR, Kind.STRING) else Value
    result = cls(ranks.REDUCED, dtype=element.dtype, scalar=element.kind is Kind.NUMBER)
    return _refined(frame, element, _GATHERS, node, result)


def _receive(frame: Frame, target: cst.CSTNode, receiver: Value, result: Value) -> None:
    """Bind the argument that a collective fills in place; this has no effect on a temporary."""
    if isinstance(receiver, ContainerValue):
        element = result
        if result.kind is Kind.CONTAINER:
            element = containers.iterate(frame, result)[0]
        frame.update(receiver, lambda cell: _filled(cell, element))
        for listed in target.elements if isinstance(target, cst.List) else ():  # `all_reduce_coalesced([x, y])`
            if frame.value_of(listed.value).kind is not Kind.NONE:  # that name stays None
                assignment.rebind(frame, listed.value, element)
    else:
        if result.kind is Kind.CONTAINER:
            result = Value(ranks.REDUCED)
        result = result.replace(device=receiver.device)  # where the tensor is filled it stays
        assignment.rebind(frame, target, result)
        if isinstance(target, cst.Name):
            assignment.rebind_aliases(frame, target.value, receiver, result)
            kept_tensors.changed_in_place(frame, target, receiver)


def _filled(cell: Cell, element: Value) -> Cell:
    """A list after a collective has put what it received into it: if it had one element per rank, it still has."""
    return Cell(cell.shape, rest=element, length=ranks.PER_RANK if cell.length == ranks.PER_RANK else ranks.SAME)
