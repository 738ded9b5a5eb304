"""The shapes of the results of tensor methods and functions.

    >>> from trl_lint.domain import ranks
    >>> from trl_lint.domain.kinds import TensorValue
    >>> from trl_lint.knowledge import torch_ops
    >>> def after(name, *args, **keywords):
    ...     tokens = TensorValue(ranks.SHARD, shape=Shape((SAME, RAGGED)))
    ...     print(of_method(torch_ops.of_method(name), tokens, args, keywords))
    >>> after("mean", dim=Value(const=1))
    (same)
    >>> after("view", Value(const=-1))
    (ragged)
    >>> after("unsqueeze", Value(const=0))
    (same, same, ragged)
    >>> after("exp")
    (same, ragged)
    >>> after("nonzero")  # one row of indices per element
    (ragged, same)

The transfer of an operation is the column `shape` of its row in `knowledge/torch_ops.py`. Without a row, the shape is
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

import libcst as cst

from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.tensors.data_dependent_shapes import counted, of_masked
from trl_lint.analysis.transfer.tensors.operands import SEQUENCES, dimensions_of, is_number, size_of, spread
from trl_lint.analysis.transfer.tensors.tensor_sizes import (
    PICKED_REASON,
    TENSORS,
    elements,
    is_rank_local,
    shaped,
    size_along,
)
from trl_lint.domain import shapes
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import SizesValue, shape_of
from trl_lint.domain.shapes import RAGGED, SAME, SCALAR, UNKNOWN, Shape
from trl_lint.domain.small_tuples import items_or_itself
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import shapes as table
from trl_lint.knowledge.torch_ops import Operation, ShapeTransfer

_FILLED_REASON = "this rank's batch is padded to its own longest sample"
_PADDED_REASON = "the sequences are padded to this rank's longest"

# --- attributes, operators ----------------------------------------------------------------------------------


# Not in torch_ops: attributes with the shape of their owner, which may be a model's output.
_AS_OWNER = frozenset({"data", "real", "sequences", "shape"})


def of_attribute(receiver: Value, name: str) -> Shape | None:
    if name in _AS_OWNER:
        return receiver.shape
    if name in ("T", "mT") and receiver.shape is not None and not receiver.shape.open and len(receiver.shape.dims) == 2:
        return receiver.shape.replace(receiver.shape.dims[::-1])
    return None


def broadcast(value: Value, left: Value, right: Value) -> Value:
    """The result of an element-wise operation on two operands, with its shape."""
    if (left.shape is None and right.shape is None) or value.kind not in TENSORS:
        return value
    return value.replace(shape=shapes.broadcast([shape_of(left), shape_of(right)]))


# --- methods ------------------------------------------------------------------------------------------------


def of_method(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    """The shape of `receiver.name(...)`, or of the function of that name."""
    of_receiver = _OF_RECEIVER.get(row.shape)
    if of_receiver is not None:
        return of_receiver(row, receiver, args, keywords)
    of_shape = _OF_SHAPE.get(row.shape)
    shape = None if of_shape is None else shape_of(receiver)
    return None if of_shape is None or shape is None else of_shape(shape, args, keywords)


def of_in_place(row: Operation, receiver: Value) -> Shape | None:
    """The shape of a tensor after an in-place operation such as `x.add_(y)`."""
    return receiver.shape if row.shape is ShapeTransfer.KEEPS else None


def _constants(over: Value) -> list[object]:
    return [each.const for each in items_or_itself(over)]


def _reduced(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    if row.has_order:
        args = args[1:]
    over = dimensions_of(args, keywords)
    if over is None:
        return SCALAR
    keep = keywords.get("keepdim", keywords.get("keepdims", args[1] if len(args) > 1 else None))
    if row.shape is ShapeTransfer.REDUCES_WITH_INDICES or (keep is not None and keep.const not in (True, False)):
        return None
    return shapes.without(shape_of(receiver), _constants(over), keep=keep is not None and keep.const is True)


def _sized(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    return size_along(shape_of(receiver), keywords.get("dim", args[0] if args else None))


def _as_index(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    index = keywords.get("index", args[1] if len(args) > 1 else None)
    return None if index is None else shape_of(index)


def _as_other(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    other = keywords.get("other", args[0] if args else None)
    return None if other is None else shape_of(other)


def _kept(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    return shape


def _broadcast(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    return shapes.broadcast([shape, *map(shape_of, (*args, *keywords.values()))])


def _viewed(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    """`x.view(-1, 8)`, `x.view(labels.shape)`."""
    if len(args) == 1 and isinstance(args[0], SizesValue):
        return args[0].shape
    shape, args = shape_of(receiver), spread(args)
    if shape is None or not args or shape.open:
        return None
    dims = [RAGGED if each.const == -1 and type(each.const) is int else size_of(each) for each in args]
    known = [each for each in args if each.const != -1]
    if len(known) == len(args):
        return shape.replace(dims)
    flattened = shapes.flattened(shape)
    if known and flattened is RAGGED and any(size_of(each) is not SAME for each in known):
        flattened = UNKNOWN
    return shape.replace(
        flattened if type(each.const) is int and each.const == -1 else dim for each, dim in zip(args, dims, strict=True)
    )


def _flat(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    return None if args or keywords or shape.open else shape.replace([shapes.flattened(shape)])


def _squeezed(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    over = keywords.get("dim", args[0] if args else None)
    place = None if over is None else shapes.position(shape, over.const)
    if place is None or shape.dims[place] is not SAME:
        return None
    return shapes.without(shape, [place])


def _unsqueezed(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    dim = keywords.get("dim", args[0] if args else None)
    if dim is None or type(dim.const) is not int or (dim.const < 0 and shape.open):
        return None
    place = dim.const + len(shape.dims) + 1 if dim.const < 0 else dim.const
    return shape.replace((*shape.dims[:place], SAME, *shape.dims[place:])) if place <= len(shape.dims) else None


def _permuted(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    args = spread(args)
    places = [shapes.position(shape, each.const) for each in args]
    if shape.open or sorted(place for place in places if place is not None) != list(range(len(shape.dims))):
        return None
    return shape.replace(shape.dims[place] for place in places if place is not None)


def _transposed(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    places = [shapes.position(shape, each.const) for each in args]
    if len(places) != 2 or None in places:
        return None
    a, b = places
    dims = list(shape.dims)
    dims[a], dims[b] = dims[b], dims[a]  # type: ignore[index]
    return shape.replace(dims)


def _turned(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    return None if shape.open or len(shape.dims) > 2 else shape.replace(shape.dims[::-1])


def _repeated(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    """`repeat_interleave(n, dim=d)`: a multiple of the size."""
    times = args[0] if args else None
    over = keywords.get("dim", args[1] if len(args) > 1 else None)
    if times is None or over is None or size_of(times) is not SAME or shapes.position(shape, over.const) is None:
        return None
    return shape if is_number(times) else None


def _selected(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    over = keywords.get("dim", args[0] if args else None)
    index = keywords.get("index", args[1] if len(args) > 1 else None)
    place = None if over is None else shapes.position(shape, over.const)
    index_shape = None if index is None else shape_of(index)
    if place is None:
        return None
    size = index_shape.dims[0] if index_shape is not None and len(index_shape.dims) == 1 else UNKNOWN
    reason = index_shape.reason if index_shape is not None and size is RAGGED else shape.reason
    dims = (size if at == place else dim for at, dim in enumerate(shape.dims))
    return Shape(dims, reason, open=shape.open)


_OF_RECEIVER: Mapping[
    ShapeTransfer, Callable[[Operation, Value, Sequence[Value], Mapping[str, Value]], Shape | None]
] = {
    ShapeTransfer.PICKS: of_masked,
    ShapeTransfer.PICKS_BY_MASK: of_masked,
    ShapeTransfer.PICKS_POSITIONS: of_masked,
    ShapeTransfer.COUNTS: counted,
    ShapeTransfer.REDUCES: _reduced,
    ShapeTransfer.REDUCES_WITH_INDICES: _reduced,
    ShapeTransfer.SIZE: _sized,
    ShapeTransfer.AS_INDEX: _as_index,
    ShapeTransfer.AS_OTHER: _as_other,
    ShapeTransfer.VIEWS: _viewed,
}
_OF_SHAPE: Mapping[ShapeTransfer, Callable[[Shape, Sequence[Value], Mapping[str, Value]], Shape | None]] = {
    ShapeTransfer.KEEPS: _kept,
    ShapeTransfer.BROADCASTS: _broadcast,
    ShapeTransfer.CHOOSES: _broadcast,
    ShapeTransfer.FLATTENS: _flat,
    ShapeTransfer.SQUEEZES: _squeezed,
    ShapeTransfer.UNSQUEEZES: _unsqueezed,
    ShapeTransfer.PERMUTES: _permuted,
    ShapeTransfer.TRANSPOSES: _transposed,
    ShapeTransfer.SEQUENTIAL: _turned,
    ShapeTransfer.REPEATS: _repeated,
    ShapeTransfer.SELECTS: _selected,
}


# --- functions ----------------------------------------------------------------------------------------------


def of_function(frame: Frame, row: Operation, name: str, args: Arguments) -> Shape | None:
    """The shape of the result of a library function."""
    if name in table.PADDING or name in table.LIKE_ARGUMENT:
        return of_named(frame, name, args)
    if name.partition(".")[0] not in ("torch", "numpy"):
        return None
    transfer = _FUNCTIONS.get(row.shape)
    if not args.positional and transfer is not _function_of_index:
        return None
    if transfer is not None:
        return transfer(frame, args)
    first = args.positional[0]
    if first.kind not in TENSORS and not is_number(first):
        return None
    return of_method(row, first, args.positional[1:], args.keywords)


def of_named(frame: Frame, name: str, args: Arguments) -> Shape | None:
    """The shape of the result of a function of the knowledge tables; None for all others."""
    padding, like = table.PADDING.get(name), table.LIKE_ARGUMENT.get(name)
    if padding is not None:
        return padded_list(frame, args, padding)
    value = None if like is None else args.get(*like)
    return None if value is None else shape_of(value)


def _function_of_index(frame: Frame, args: Arguments) -> Shape | None:
    index = args.get(2, "index")
    return None if index is None else shape_of(index)


def _chosen(frame: Frame, args: Arguments) -> Shape | None:
    """`torch.where(test, x, y)`."""
    return shapes.broadcast([shape_of(value) for value in args.positional]) if len(args.positional) == 3 else None


def _of_target(frame: Frame, args: Arguments) -> Shape | None:
    """An unreduced loss: one element per label."""
    reduction, target = args.keywords.get("reduction"), args.get(1, "target")
    unreduced = reduction is not None and reduction.const == "none"
    return shape_of(target) if unreduced and target is not None else None


def _listed(args: Arguments) -> Value | None:
    """The list of tensors that a function joins along one dimension; None if the list or the dimension is unknown."""
    items, dim = args.positional[0], args.get(1, "dim")
    is_supported = items.kind in SEQUENCES and (dim is None or type(dim.const) is int)
    return items if is_supported else None


def _stacked(frame: Frame, args: Arguments) -> Shape | None:
    items, dim = _listed(args), args.get(1, "dim")
    if items is None:
        return None
    found, length = elements(frame, items)
    element = found[0] if found else None
    for shape in found[1:]:
        element = shapes.join(element, shape)
    if element is None:
        return Shape((RAGGED,), PICKED_REASON, open=True) if length is RAGGED and dim is None else None
    place = 0 if dim is None else dim.const
    place = place + len(element.dims) + 1 if place < 0 and not element.open else place
    if not 0 <= place <= len(element.dims):
        return None
    reason = PICKED_REASON if length is RAGGED else element.reason
    return Shape((*element.dims[:place], length, *element.dims[place:]), reason, open=element.open)


def _concatenated(frame: Frame, args: Arguments) -> Shape | None:
    items, dim = _listed(args), args.get(1, "dim")
    if items is None:
        return None
    found, length = elements(frame, items)
    known = [shape for shape in found if shape is not None]
    place = 0 if dim is None else dim.const
    if not found or len(known) < len(found):
        return None
    if any(shape.open for shape in known):
        return _concatenated_rows(known) if place == 0 and length is not RAGGED else None
    if len({len(shape.dims) for shape in known}) != 1:
        return None
    place = shapes.position(known[0], place)
    if place is None:
        return None
    dims = []
    for index in range(len(known[0].dims)):
        present = {shape.dims[index] for shape in known}
        if index == place:
            dims.append(
                RAGGED if RAGGED in present or length is RAGGED else SAME if present == {SAME} == {length} else UNKNOWN
            )
        else:
            # All pieces have the same length in this dimension.
            dims.append(present.pop() if len(present) == 1 else UNKNOWN)
    return Shape(dims, next((shape.reason for shape in known if shape.is_ragged), PICKED_REASON))


def _concatenated_rows(pieces: Sequence[Shape]) -> Shape | None:
    """The shape of rows that are joined, some of them picked: `cat(kept)`; those of two may make up for each other.

    cat([x[mask], x[~mask]])                     not known
    cat([kept, zeros(longest - len(kept), 8)])   not known
    """
    firsts = [shape.dims[0] for shape in pieces if shape.dims]
    is_picked = firsts.count(RAGGED) == 1 and firsts.count(SAME) == len(pieces) - 1
    return Shape((RAGGED,), PICKED_REASON, open=True) if is_picked else None


def padded_list(frame: Frame, args: Arguments, parameter: tuple[int, str]) -> Shape | None:
    items = args.get(*parameter)
    if items is None:
        return None
    if items.kind in SEQUENCES:
        found, _ = elements(frame, items)
        element = containers.iterate(frame, items)[0]
        if not is_rank_local(element) or any(shape is not None and not shape.is_ragged for shape in found):
            return None
    elif not is_rank_local(items):
        return None
    first = args.keywords.get("batch_first")
    if parameter[1] == "sequences" and (first is None or first.const is not True):
        return Shape((RAGGED, SAME), _PADDED_REASON, open=True)
    return Shape((SAME, RAGGED), _PADDED_REASON)


def _of_source(frame: Frame, args: Arguments) -> Shape | None:
    """`torch.tensor(x)`."""
    source = args.positional[0]
    if is_number(source):
        return SCALAR
    if source.kind in (Kind.CONTAINER, Kind.TUPLE):
        element = containers.iterate(frame, source)[0]
        if is_number(element):
            length = elements(frame, source)[1]
            return None if length is UNKNOWN else Shape((length,), PICKED_REASON if length is RAGGED else "")
        return None
    return source.shape


def _filled(frame: Frame, args: Arguments) -> Shape | None:
    if len(args.positional) == 1 and args.positional[0].kind is Kind.TUPLE:
        return _filled_to(frame, args)
    if len(args.positional) == 1 and isinstance(args.positional[0], SizesValue):
        return args.positional[0].shape  # `torch.zeros(x.shape)`: that of `x`
    if not all(map(is_number, args.positional)):
        return None
    return _of_sizes(args.positional)


def _filled_to(frame: Frame, args: Arguments) -> Shape | None:
    sizes = args.positional[0].items
    return _of_sizes(sizes) if sizes else None


def _of_sizes(sizes: Sequence[Value]) -> Shape:
    """The shape with these sizes; what makes one of them differ is the reason, too: `torch.zeros(found.shape[0])`."""
    known = (each.shape for each in sizes if each.shape is not None)
    reason = next((shape.reason for shape in known if shape.is_ragged and shape.reason), _FILLED_REASON)
    return Shape([size_of(each) for each in sizes], reason)


def _counted_up(frame: Frame, args: Arguments) -> Shape | None:
    return _filled(frame, args) if len(args.positional) == 1 else None


_FUNCTIONS: Mapping[ShapeTransfer, Callable[[Frame, Arguments], Shape | None]] = {
    ShapeTransfer.AS_INDEX: _function_of_index,
    ShapeTransfer.CHOOSES: _chosen,
    ShapeTransfer.CONCATENATES: _concatenated,
    ShapeTransfer.COUNTS_UP: _counted_up,
    ShapeTransfer.OF_SOURCE: _of_source,
    ShapeTransfer.OF_TARGET: _of_target,
    ShapeTransfer.SIZES: _filled,
    ShapeTransfer.SIZES_IN_A_TUPLE: _filled_to,
    ShapeTransfer.STACKS: _stacked,
}


def padded(frame: Frame, operand: Value, args: Arguments, node: cst.CSTNode) -> Value:
    """`pad_across_processes`: one dimension gets the same length on all ranks, in all tensors of a container."""
    over = args.get(1, "dim")
    dim = 0 if over is None else over.const

    def rebuild(cell: Cell, entries: dict[Hashable, Value], rest: Value | None) -> Cell:
        return cell.holding(entries, rest)

    def changed(value: Value, _: object) -> Value:
        return shaped(value, shapes.padded(shape_of(value), dim))

    return containers.map_items(frame, operand, node, changed, rebuild)
