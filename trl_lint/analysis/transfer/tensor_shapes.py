"""What methods, functions and subscripts make of the shapes of tensors (see `shapes.py`).

What is not listed here gives an unknown shape, of which nothing is said.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import libcst as cst

from trl_lint.analysis.program.classes import FunctionInfo
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame, derived
from trl_lint.domain import ranks, shapes
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import (
    BatchRole,
    BatchValue,
    ContainerValue,
    SizesValue,
    TupleValue,
    is_trained,
    role_of,
    shape_of,
)
from trl_lint.domain.ranks import PICKED, Origin, Rank, State
from trl_lint.domain.shapes import RAGGED, SAME, SCALAR, UNKNOWN, Dim, Shape
from trl_lint.domain.values import Kind, Value, Wrapping
from trl_lint.knowledge import heuristics, library
from trl_lint.knowledge import shapes as table
from trl_lint.knowledge import torch as torch_table

_TENSORS = frozenset({Kind.BATCH, Kind.TENSOR, Kind.UNKNOWN})
_BATCH_REASON = "this rank's batch is padded to its own longest sample"
_TOKENS_REASON = "there are as many rows per sample as this rank's longest sample has tokens"
_MASK_REASON = "a mask picks as many elements as this rank's data have"
_PICKED_REASON = "only those of this rank's elements are left that pass a test"
_GENERATED_REASON = "completions are as long as this rank's longest"
_PADDED_REASON = "the sequences are padded to this rank's longest"


def _varies(value: Value) -> bool:
    """Whether this rank's own data decide on the value."""
    return value.rank.differs and Origin.DATA in value.rank.origins


def _is_own(value: Value) -> bool:
    """Whether the value is this rank's: its own data, or its slice of everybody's."""
    return value.rank.differs and bool((Origin.DATA | Origin.RANK) & value.rank.origins)


# --- batches and models ---------------------------------------------------------------------------------


def of_field(frame: Frame, batch: Value, name: Any) -> Shape | None:
    """The shape of a field of a batch, by its name and by what the file says of lengths."""
    if not isinstance(name, str) or not _varies(batch) or _has_fixed_lengths(frame):
        return None
    if heuristics.PADDED_LABELS.fits(name) or heuristics.PADDED_FIELD.fits(name):
        return Shape((SAME, RAGGED), _BATCH_REASON)
    if name == "labels":
        return Shape((SAME,), _BATCH_REASON, open=True, tokens=True)
    return None


def of_logits(frame: Frame, model: Value, args: Arguments) -> Shape | None:
    """The shape of the logits of a model: one row per token, where it is known to be a model of tokens."""
    given = [value for value in args.all() if _varies(value)]
    known = [shape for shape in map(shape_of, given) if shape is not None and not shape.open]
    if not given or _has_fixed_lengths(frame):
        return None
    if known and not any(shape.is_ragged for shape in known):
        return None
    tokens = _is_of_tokens(frame, model, args)
    if tokens is None:
        return Shape((SAME,), _TOKENS_REASON, open=True, tokens=True)
    return Shape((SAME, RAGGED, SAME), _TOKENS_REASON) if tokens else None


def of_generated(model_args: Arguments) -> Shape | None:
    """The shape of what `generate` returns, if it returns tokens."""
    fixed = {"min_length", "min_new_tokens", "return_dict_in_generate"} & model_args.keywords.keys()
    if fixed or not any(_varies(value) for value in (*model_args.all(), model_args.star, model_args.double) if value):
        return None
    return Shape((SAME, RAGGED), _GENERATED_REASON)


def _is_of_tokens(frame: Frame, model: Value, args: Arguments) -> bool | None:
    """Whether a model's logits have one row per token; None when nothing says so or otherwise."""
    if table.TOKEN_ARGUMENTS & args.keywords.keys():
        return True
    if is_trained(model) or model.wrapping is Wrapping.WRAPPED:
        trainers = _trainers(frame)
        if trainers & table.SAMPLE_TRAINERS:
            return False
        if trainers & table.TOKEN_TRAINERS:
            return True
    tokens, samples = map(frame.module.shows, (heuristics.TOKEN_MODELS, heuristics.SAMPLE_MODELS))
    return None if tokens is samples else tokens


def _trainers(frame: Frame) -> set[str]:
    """The library's trainers that the class of `self` is, or is built on."""
    if frame.cls is None:
        return set()
    names = (frame.cls.canonical, *frame.cls.library_bases())
    return {base for name in names if name for base in library.mro(name, frame.engine.versions)}


def _has_fixed_lengths(frame: Frame) -> bool:
    return frame.module.shows(heuristics.FIXED_LENGTHS)


# --- attributes, methods ------------------------------------------------------------------------------------


def of_attribute(owner: Value, name: str) -> Shape | None:
    if name in ("data", "real", "sequences", "shape"):
        return owner.shape
    if name in ("T", "mT") and owner.shape is not None and not owner.shape.open and len(owner.shape.dims) == 2:
        return owner.shape.but(owner.shape.dims[::-1])
    return None


def of_method(receiver: Value, name: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    """The shape of `receiver.name(...)`, or of the function of that name."""
    shape = shape_of(receiver)
    if name in table.PICKS:
        return _picked(receiver, name, args, keywords)
    if name in torch_table.REDUCTIONS or name in table.ARG:
        return _reduced(shape, name, args, keywords)
    if name in ("size", "stride"):
        return _size(shape, keywords.get("dim", args[0] if args else None))
    if name in ("gather", "take_along_dim"):
        index = keywords.get("index", args[1] if len(args) > 1 else None)
        return None if index is None else shape_of(index)
    if shape is None:
        return None
    if name in table.KEEP:
        return shape
    if name in table.BROADCAST:
        return shapes.broadcast([shape, *map(shape_of, (*args, *keywords.values()))])
    handler = _METHODS.get(name)
    return None if handler is None else handler(shape, args, keywords)


def _picked(receiver: Value, name: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    mask = keywords.get("mask", args[0] if args else None)
    deciding = mask if name == "masked_select" and mask is not None else receiver
    if not _varies(deciding) or (set(keywords) & {"as_tuple", "return_inverse", "return_counts", "dim"}):
        return None
    return Shape((RAGGED, SAME) if name in ("nonzero", "argwhere") else (RAGGED,), _MASK_REASON)


def _constants(over: Value) -> list[Any]:
    dims = over.items if isinstance(over, TupleValue) else (over,)
    return [each.const for each in dims]


def _reduced(shape: Shape | None, name: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    if torch_table.REDUCTIONS.get(name) in torch_table.ORDERED:
        args = args[1:]
    over = keywords.get("dim", keywords.get("axis", args[0] if args else None))
    keep = keywords.get("keepdim", keywords.get("keepdims", args[1] if len(args) > 1 else None))
    if over is None or over.kind is Kind.NONE:
        return SCALAR
    if name in ("max", "min", "median", "nanmedian"):
        # With a dimension these give values and indices, with another tensor the larger ones.
        return None
    if keep is not None and keep.const not in (True, False):
        return None
    return shapes.without(shape, _constants(over), keep=keep is not None and keep.const is True)


def _size(shape: Shape | None, dim: Value | None) -> Shape | None:
    """The size of one dimension, as the shape of a number: one dimension like that."""
    place = None if shape is None or dim is None else shapes.position(shape, dim.const)
    return None if shape is None or place is None else Shape((shape.dims[place],), shape.reason)


def size_of(value: Value) -> Dim:
    """How a number used as a size compares with the other ranks'."""
    if type(value.const) is int:
        return SAME
    if value.shape is not None and len(value.shape.dims) == 1 and value.kind is Kind.NUMBER:
        return value.shape.dims[0]
    return SAME if value.rank.state is State.SAME else UNKNOWN


def _viewed(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    if len(args) == 1 and isinstance(args[0], TupleValue):
        args = args[0].items
    if not args or shape.open:
        return None
    dims = [RAGGED if each.const == -1 and type(each.const) is int else size_of(each) for each in args]
    rest = [each for each in args if each.const != -1]
    if len(rest) == len(args):
        return shape.but(dims)
    left = shapes.flattened(shape)
    if rest and left is RAGGED and any(size_of(each) is not SAME for each in rest):
        left = UNKNOWN
    return shape.but(
        left if type(each.const) is int and each.const == -1 else dim for each, dim in zip(args, dims, strict=True)
    )


def _flat(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    return None if args or keywords or shape.open else shape.but([shapes.flattened(shape)])


def _squeezed(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    over = keywords.get("dim", args[0] if args else None)
    place = None if over is None else shapes.position(shape, over.const)
    if place is None or shape.dims[place] is not SAME:
        return None
    return shapes.without(shape, [place])


def _unsqueezed(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    where = keywords.get("dim", args[0] if args else None)
    if where is None or type(where.const) is not int or (where.const < 0 and shape.open):
        return None
    place = where.const + len(shape.dims) + 1 if where.const < 0 else where.const
    return shape.but((*shape.dims[:place], SAME, *shape.dims[place:])) if place <= len(shape.dims) else None


def _permuted(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    if len(args) == 1 and isinstance(args[0], TupleValue):
        args = args[0].items
    places = [shapes.position(shape, each.const) for each in args]
    if shape.open or sorted(place for place in places if place is not None) != list(range(len(shape.dims))):
        return None
    return shape.but(shape.dims[place] for place in places if place is not None)


def _transposed(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    places = [shapes.position(shape, each.const) for each in args]
    if len(places) != 2 or None in places:
        return None
    a, b = places
    dims = list(shape.dims)
    dims[a], dims[b] = dims[b], dims[a]  # type: ignore[index]
    return shape.but(dims)


def _turned(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    return None if shape.open or len(shape.dims) > 2 else shape.but(shape.dims[::-1])


def _repeated(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    """`repeat_interleave(n, dim=d)`: as many times the same size."""
    times = args[0] if args else None
    over = keywords.get("dim", args[1] if len(args) > 1 else None)
    if times is None or over is None or size_of(times) is not SAME or shapes.position(shape, over.const) is None:
        return None
    return shape if times.kind is Kind.NUMBER else None


def _selected(shape: Shape, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    over = keywords.get("dim", args[0] if args else None)
    index = keywords.get("index", args[1] if len(args) > 1 else None)
    place = None if over is None else shapes.position(shape, over.const)
    picked = None if index is None else shape_of(index)
    if place is None:
        return None
    size = picked.dims[0] if picked is not None and len(picked.dims) == 1 else UNKNOWN
    reason = picked.reason if picked is not None and size is RAGGED else shape.reason
    dims = (size if at == place else dim for at, dim in enumerate(shape.dims))
    return Shape(dims, reason, open=shape.open)


_METHODS = {
    "flatten": _flat, "index_select": _selected, "permute": _permuted, "ravel": _flat, "repeat_interleave": _repeated,
    "reshape": _viewed, "squeeze": _squeezed, "swapaxes": _transposed, "swapdims": _transposed, "t": _turned,
    "transpose": _transposed, "unsqueeze": _unsqueezed, "view": _viewed,
}  # fmt: skip


# --- functions --------------------------------------------------------------------------------------------


def of_function(frame: Frame, name: str, args: Arguments) -> Shape | None:
    """The shape of what a library's function returns."""
    padding = table.PADDING.get(name)
    if padding is not None:
        return _padded_list(frame, args, padding)
    like = table.LIKE_ARGUMENT.get(name)
    if like is not None:
        value = args.get(*like)
        return None if value is None else shape_of(value)
    root, _, own = name.rpartition(".")
    if not args.positional or root.partition(".")[0] not in ("torch", "numpy"):
        return None
    first = args.positional[0]
    if own in ("stack", "vstack"):
        return _stacked(frame, first, args.get(1, "dim")) if own == "stack" else None
    if own in ("cat", "concat", "concatenate"):
        return _concatenated(frame, first, args.get(1, "dim"))
    if name in torch_table.TENSOR_MAKERS:
        return _made(frame, first)
    if name in torch_table.FILLED:
        return _filled(own, args)
    if own in ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits"):
        reduction = args.keywords.get("reduction")
        target = args.get(1, "target")
        unreduced = reduction is not None and reduction.const == "none"
        return shape_of(target) if unreduced and target is not None else None
    if own == "where":
        return shapes.broadcast([shape_of(value) for value in args.positional]) if len(args.positional) == 3 else None
    if first.kind not in _TENSORS and first.kind is not Kind.NUMBER:
        return None
    return of_method(first, own, args.positional[1:], args.keywords)


def returned(frame: Frame, function: FunctionInfo, args: Arguments, value: Value) -> Value:
    """What a function in sight returns: where a library is linted itself, the shape that the tables tell of it."""
    padding = table.PADDING.get(f"{function.module.name}.{function.name}")
    if padding is None or value.shape is not None:
        return value
    return shaped(value, _padded_list(frame, args, padding))


def _elements(frame: Frame, value: Value) -> tuple[list[Shape | None], Dim]:
    """The shapes of what is in a list or tuple, and whether there are equally many."""
    items = containers.positions_of(frame, value)
    if items is not None:
        return [shape_of(item) for item in items], SAME
    element, length = containers.iterate(frame, value)
    if isinstance(value, ContainerValue):
        sizes = {_length(cell.length) for cell in frame.memory.cells(value)}
        return [shape_of(element)], sizes.pop() if len(sizes) == 1 else UNKNOWN
    return [shape_of(element)], _length(length)


def _length(rank: Rank) -> Dim:
    if rank.state is State.SAME:
        return SAME
    return RAGGED if rank.how == PICKED else UNKNOWN


def _stacked(frame: Frame, items: Value, dim: Value | None) -> Shape | None:
    if items.kind not in (Kind.CONTAINER, Kind.ITERABLE, Kind.TUPLE) or (
        dim is not None and type(dim.const) is not int
    ):
        return None
    found, length = _elements(frame, items)
    element = found[0] if found else None
    for shape in found[1:]:
        element = shapes.join(element, shape)
    if element is None:
        return Shape((RAGGED,), _PICKED_REASON, open=True) if length is RAGGED and dim is None else None
    place = 0 if dim is None else dim.const
    place = place + len(element.dims) + 1 if place < 0 and not element.open else place
    if not 0 <= place <= len(element.dims):
        return None
    reason = _PICKED_REASON if length is RAGGED else element.reason
    return Shape((*element.dims[:place], length, *element.dims[place:]), reason, open=element.open)


def _concatenated(frame: Frame, items: Value, dim: Value | None) -> Shape | None:
    if items.kind not in (Kind.CONTAINER, Kind.ITERABLE, Kind.TUPLE) or (
        dim is not None and type(dim.const) is not int
    ):
        return None
    found, length = _elements(frame, items)
    known = [shape for shape in found if shape is not None and not shape.open]
    if not found or len(known) < len(found) or len({len(shape.dims) for shape in known}) != 1:
        return None
    place = shapes.position(known[0], 0 if dim is None else dim.const)
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
            # All pieces are equally long there.
            dims.append(present.pop() if len(present) == 1 else UNKNOWN)
    return Shape(dims, next((shape.reason for shape in known if shape.is_ragged), _PICKED_REASON))


def _padded_list(frame: Frame, args: Arguments, parameter: tuple[int, str]) -> Shape | None:
    items = args.get(*parameter)
    if items is None:
        return None
    if items.kind in (Kind.CONTAINER, Kind.ITERABLE, Kind.TUPLE):
        found, _ = _elements(frame, items)
        element = containers.iterate(frame, items)[0]
        if not _is_own(element) or any(shape is not None and not shape.is_ragged for shape in found):
            return None
    elif not _is_own(items):
        return None
    first = args.keywords.get("batch_first")
    if parameter[1] == "sequences" and (first is None or first.const is not True):
        return Shape((RAGGED, SAME), _PADDED_REASON, open=True)
    return Shape((SAME, RAGGED), _PADDED_REASON)


def _made(frame: Frame, source: Value) -> Shape | None:
    """`torch.tensor(x)`."""
    if source.kind is Kind.NUMBER:
        return SCALAR
    if source.kind in (Kind.CONTAINER, Kind.TUPLE):
        element = containers.iterate(frame, source)[0]
        if element.kind is Kind.NUMBER:
            length = _elements(frame, source)[1]
            return None if length is UNKNOWN else Shape((length,), _PICKED_REASON if length is RAGGED else "")
        return None
    return source.shape


def _filled(name: str, args: Arguments) -> Shape | None:
    if name == "full" or (len(args.positional) == 1 and args.positional[0].kind is Kind.TUPLE):
        sizes = args.positional[0]
        if not isinstance(sizes, TupleValue) or not sizes.items:
            return None
        return Shape([size_of(each) for each in sizes.items], _BATCH_REASON)
    is_filled = name in ("ones", "zeros", "empty") or (name == "arange" and len(args.positional) == 1)
    if not is_filled or any(value.kind is not Kind.NUMBER for value in args.positional):
        return None
    return Shape([size_of(each) for each in args.positional], _BATCH_REASON)


# --- subscripts -------------------------------------------------------------------------------------------


def of_subscript(frame: Frame, container: Value, node: cst.Subscript) -> Shape | None:
    """The shape of `x[...]`, index by index."""
    shape = shape_of(container) if container.kind in _TENSORS else None
    indices = [element.slice for element in node.slice]
    if isinstance(container, SizesValue):
        return _dimension(frame, container, indices)
    if container.kind not in _TENSORS or any(_is_text(frame, index) for index in indices):
        return None
    if shape is None:
        shape = Shape((), open=True)
    walk = _Walk(frame, shape)
    for number, index in enumerate(indices):
        if not walk.take(index, len(indices) - number - 1):
            return None
    return walk.result()


def _is_text(frame: Frame, index: Any) -> bool:
    return isinstance(index, cst.Index) and _value(frame, index.value).kind is Kind.STRING


def _value(frame: Frame, node: cst.CSTNode) -> Value:
    return frame.node_values.get(id(node)) or Value()


def _dimension(frame: Frame, container: Value, indices: list[Any]) -> Shape | None:
    if container.shape is None or len(indices) != 1 or not isinstance(indices[0], cst.Index):
        return None
    return _size(container.shape, _value(frame, indices[0].value))


class _Walk:
    """The indices of one subscript against the dimensions of what is indexed, from the first to the last."""

    def __init__(self, frame: Frame, shape: Shape) -> None:
        self.frame = frame
        self.shape = shape
        self.left = list(shape.dims)
        self.dims: list[Dim] = []
        self.reason = shape.reason
        self.beyond = 0  # how many dimensions of an open shape have been taken that are not known

    def take(self, index: Any, behind: int) -> bool:
        """Go over one index, with so many behind it; False where what comes of it is not known."""
        if isinstance(index, cst.Slice):
            self.dims.append(self._cut(index, self._next(behind)))
            return True
        if isinstance(index.value, cst.Ellipsis):
            return self._skip(behind)
        value = _value(self.frame, index.value)
        if value.kind is Kind.NONE:
            self.dims.append(SAME)
            return True
        if value.kind is Kind.NUMBER:
            self._next(behind)
            return True
        return self._advanced(value, behind)

    def result(self) -> Shape | None:
        dims = [*self.dims, *self.left]
        if self.shape.open and RAGGED not in dims and not self.shape.tokens:
            return None
        # Whoever cuts the tokens has named all dimensions.
        is_open = self.shape.open and not (self.shape.tokens and self.beyond and RAGGED in dims)
        return Shape(dims, self.reason, open=is_open, tokens=is_open and self.shape.tokens and not self.beyond)

    def _next(self, behind: int) -> Dim | None:
        """The next dimension; None where it is one of an open shape that is not known."""
        if self.left:
            return self.left.pop(0)
        self.beyond += 1
        return None

    def _skip(self, behind: int) -> bool:
        if self.shape.open:
            if not behind:
                return True
            # `logits[..., :-1, :]`: all but the last two are the samples.
            if not self.shape.tokens or behind > 2:
                return False
            self.dims, self.left = [SAME], []
            self.beyond = 1
            return True
        while len(self.left) > behind:
            self.dims.append(self.left.pop(0))
        return True

    def _cut(self, index: cst.Slice, dim: Dim | None) -> Dim:
        lower, upper = (None if each is None else _value(self.frame, each) for each in (index.lower, index.upper))
        if index.step is not None:
            return UNKNOWN
        if lower is None and upper is None:
            return UNKNOWN if dim is None else dim
        if dim is None:
            # Tokens are shifted against each other: there is one such dimension, behind the samples'.
            shifts = _is_shift(lower, upper) and self.shape.tokens
            if shifts:
                self.reason = self.shape.reason
            return RAGGED if shifts else UNKNOWN
        if dim is SAME:
            return SAME if all(bound is None or size_of(bound) is SAME for bound in (lower, upper)) else UNKNOWN
        keeps_start = lower is None or (lower.kind is Kind.NUMBER and not _is_negative(lower, index.lower))
        keeps_end = upper is None or (type(upper.const) is int and upper.const < 0)
        if keeps_start and keeps_end:
            return dim
        negative = index.lower if upper is None else None
        if isinstance(negative, cst.UnaryOperation) and isinstance(negative.operator, cst.Minus):
            return size_of(_value(self.frame, negative.expression))
        return UNKNOWN

    def _advanced(self, value: Value, behind: int) -> bool:
        """A tensor or list as an index: a mask picks, numbers choose."""
        if value.kind is Kind.CONTAINER:
            length = _elements(self.frame, value)[1]
            if length is not RAGGED:
                return False
            self._next(behind)
            self.dims.append(RAGGED)
            self.reason = _PICKED_REASON
            return True
        if value.kind not in _TENSORS:
            return False
        chosen = shape_of(value)
        if value.dtype == "bool":
            return self._masked(value, chosen, behind)
        if chosen is None or chosen.open:
            return False
        self._next(behind)
        self.dims.extend(chosen.dims)
        self.reason = chosen.reason if chosen.is_ragged else self.reason
        return True

    def _masked(self, mask: Value, shape: Shape | None, behind: int) -> bool:
        if not _varies(mask) or behind:
            return False
        self.dims.append(RAGGED)
        self.reason = _MASK_REASON
        if shape is None or shape.open:
            self.left = []
            self.shape = Shape((), open=True)
        else:
            for _ in shape.dims:
                self._next(0)
        return True


def _is_negative(value: Value, node: cst.CSTNode | None) -> bool:
    if type(value.const) is int:
        return value.const < 0
    return isinstance(node, cst.UnaryOperation)


def _is_shift(lower: Value | None, upper: Value | None) -> bool:
    """`[:-1]` or `[1:]`."""
    if lower is None:
        return upper is not None and type(upper.const) is int and upper.const == -1
    return upper is None and type(lower.const) is int and lower.const == 1


# --- values with their shapes -------------------------------------------------------------------------------

# What the transfers of facts give and the shape belongs to.
_SHAPED = frozenset({Kind.BATCH, Kind.TENSOR, Kind.UNKNOWN})


def shaped(value: Value, shape: Shape | None) -> Value:
    """A value with this shape, if it can have one."""
    if value.shape is shape or (value.kind not in _SHAPED and value.kind is not Kind.NUMBER):
        return value
    return value.but(shape=shape)


def broadcast(value: Value, left: Value, right: Value) -> Value:
    """The value of an element-wise operation on two others, with its shape."""
    if (left.shape is None and right.shape is None) or value.kind not in _SHAPED:
        return value
    return value.but(shape=shapes.broadcast([shape_of(left), shape_of(right)]))


def subscripted(frame: Frame, container: Value, value: Value, node: cst.Subscript) -> Value:
    """The value of `container[…]`, with its shape."""
    # A batch that was given another entry is a dict in sight, of fields as before.
    is_field = value.shape == shapes.FIELD or (role_of(value) is BatchRole.FIELD and value.shape is None)
    if not is_field and container.kind is Kind.UNKNOWN and container.rank.state is State.UNKNOWN:
        return _picked_of_unknown(frame, container, value, node)
    if not is_field and (container.kind not in _TENSORS or not container.rank.differs):
        return value
    if is_field:
        container = value if container.kind is Kind.CONTAINER else container
        index = node.slice[0].slice
        name = _value(frame, index.value).const if isinstance(index, cst.Index) else None
        return shaped(value, of_field(frame, container, name))
    if role_of(container) is BatchRole.OUTPUT:
        return value
    return shaped(value, of_subscript(frame, container, node))


def _picked_of_unknown(frame: Frame, container: Value, value: Value, node: cst.Subscript) -> Value:
    """What is picked of a value that nothing is known of: by how many elements it has, it differs between ranks."""
    shape = of_subscript(frame, container, node)
    if shape is None or not shape.is_ragged:
        return value
    parts = [_value(frame, each.slice.value) for each in node.slice if isinstance(each.slice, cst.Index)]
    return derived(ranks.LOCAL, Kind.UNKNOWN, *parts, shape=shape)


def with_logits(frame: Frame, output: Value, model: Value, args: Arguments) -> Value:
    """A model's output, which carries the shape of its logits."""
    return shaped(output, of_logits(frame, model, args)) if output.rank.differs else output


def generated(output: Value, args: Arguments) -> Value:
    """What `generate` returns: tokens, unless it is asked for more."""
    shape = of_generated(args)
    return output if shape is None else output.as_a(BatchValue, shape=shape)


def attribute_of(frame: Frame, owner: Value, value: Value, name: str) -> Value:
    """The value of `owner.name`, with its shape."""
    if role_of(owner) is BatchRole.OUTPUT:
        return shaped(value, owner.shape if name == "logits" else None)
    if role_of(owner) is BatchRole.WHOLE and owner.shape is None:
        return shaped(value, of_field(frame, owner, name))
    return shaped(value, of_attribute(owner, name))


def entry(frame: Frame, batch: Value, value: Value, name: str, args: Arguments) -> Value:
    """`batch.get(key)`, `batch.pop(key)`."""
    if name not in ("get", "pop") or not args.positional or role_of(batch) is not BatchRole.WHOLE:
        return value
    return shaped(value, of_field(frame, batch, args.positional[0].const))


def of_in_place(owner: Value, name: str) -> Shape | None:
    """The shape of a tensor after `x.add_(y)` and the like."""
    turned = ("set_", "squeeze_", "t_", "transpose_", "unsqueeze_")
    return None if name in turned else owner.shape


def padded(frame: Frame, operand: Value, args: Arguments, node: cst.CSTNode) -> Value:
    """`pad_across_processes`: one dimension is as long everywhere, in all tensors of a container."""
    over = args.get(1, "dim")
    dim = 0 if over is None else over.const

    def renewed(cell: Cell, entries: dict[Hashable, Value], rest: Value | None) -> Cell:
        return Cell(cell.shape, entries, rest, cell.factory, cell.length)

    def changed(value: Value, _: Any) -> Value:
        return shaped(value, shapes.padded(shape_of(value), dim))

    return containers.each(frame, operand, node, changed, renewed)
