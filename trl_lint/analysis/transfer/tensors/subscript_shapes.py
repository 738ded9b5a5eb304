"""The shapes of subscripted tensors, index by index.

For example:

    (SAME, RAGGED)[:, 0]         -> (SAME,)
    (SAME, RAGGED)[:, :8]        -> (SAME, unknown)      it may be shorter
    (SAME, RAGGED)[:, 1:]        -> (SAME, RAGGED)
    (SAME, RAGGED)[mask]         -> (RAGGED,)            the number of elements that the mask selects
    rows[start : start + n]      -> n rows               wherever it starts, also of rows that are the same on all ranks
    batch["input_ids"]           -> (SAME, RAGGED)       see `batch_shapes.py`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import libcst as cst

from trl_lint.analysis.program.idioms.counts_for_all_turns import is_for_all_turns
from trl_lint.analysis.program.idioms.fixed_masks import selects_as_many
from trl_lint.analysis.program.syntax import assignments, last_name, names_in, of_class, resolved
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.tensors.batch_shapes import of_field
from trl_lint.analysis.transfer.tensors.operands import is_number, size_of
from trl_lint.analysis.transfer.tensors.tensor_sizes import (
    MASK_REASON,
    PICKED_REASON,
    TENSORS,
    elements,
    shaped,
    size_along,
    sized,
    varies,
)
from trl_lint.domain import ranks, shapes
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import BatchRole, SizesValue, role_of, shape_of
from trl_lint.domain.numbers import is_one
from trl_lint.domain.shapes import RAGGED, SAME, UNKNOWN, Dim, Shape
from trl_lint.domain.values import Kind, Value


def subscripted(frame: Frame, container: Value, value: Value, node: cst.Subscript) -> Value:
    """The value of `container[…]`, with its shape."""
    # A batch with an additional entry is a dict on the heap, with its fields as before.
    is_unnamed = value.shape is shapes.FIELD or value.shape is shapes.OWN_LENGTH
    is_field = is_unnamed or (role_of(value) is BatchRole.FIELD and value.shape is None)
    if not is_field and container.is_unknown:
        return _selected_of_unknown(frame, container, value, node)
    is_part = not is_field and container.kind is Kind.TENSOR and value.rank.differs
    if is_part and _is_as_long_on_all(frame, container, node):
        return shaped(value, Shape((SAME,), open=True))
    if not is_field and (container.kind not in TENSORS or not container.rank.differs):
        return value
    if is_field:
        container = value if container.kind is Kind.CONTAINER else container
        index = node.slice[0].slice
        name = _value(frame, index.value).const if isinstance(index, cst.Index) else None
        return shaped(value, of_field(frame, container, name))
    if role_of(container) is BatchRole.OUTPUT and not _is_masked(frame, node):
        return value
    shape = of_subscript(frame, container, node)
    if not isinstance(container, SizesValue):
        return shaped(value, shape)
    if value.rank.differs and is_for_all_turns(frame.root, node):
        return value.replace(rank=ranks.UNKNOWN)
    return sized(value, container.shape, shape)


def _selected_of_unknown(frame: Frame, container: Value, value: Value, node: cst.Subscript) -> Value:
    """The elements selected from an unknown value: if their number is rank-local, it differs between ranks."""
    shape = of_subscript(frame, container, node)
    if shape is None or not shape.is_ragged:
        return value
    parts = [_value(frame, each.slice.value) for each in node.slice if isinstance(each.slice, cst.Index)]
    return derived(ranks.LOCAL, Kind.UNKNOWN, *parts, shape=shape)


def of_subscript(frame: Frame, container: Value, node: cst.Subscript) -> Shape | None:
    """The shape of `x[...]`, index by index."""
    shape = shape_of(container) if container.kind in TENSORS else None
    indices = [element.slice for element in node.slice]
    if isinstance(container, SizesValue):
        return _dimension(frame, container, indices)
    if container.kind not in TENSORS or any(_is_text(frame, index) for index in indices):
        return None
    if shape is None:
        shape = Shape((), open=True)
    walk = _Walk(frame, shape)
    for number, index in enumerate(indices):
        if not walk.consume(index, len(indices) - number - 1):
            return None
    return walk.result()


def _is_masked(frame: Frame, node: cst.Subscript) -> bool:
    """Whether a mask selects from a model's output, which is then a tensor, as masks only select from tensors."""
    first = node.slice[0].slice
    mask = _value(frame, first.value) if isinstance(first, cst.Index) else Value()
    return mask.kind is Kind.TENSOR and mask.dtype == "bool" and not mask.scalar


def _is_text(frame: Frame, index: cst.BaseSlice) -> bool:
    return isinstance(index, cst.Index) and _value(frame, index.value).kind is Kind.STRING


def _value(frame: Frame, node: cst.CSTNode) -> Value:
    return frame.known_value(node) or Value()


def _dimension(frame: Frame, container: Value, indices: Sequence[cst.BaseSlice]) -> Shape | None:
    if container.shape is None or len(indices) != 1 or not isinstance(indices[0], cst.Index):
        return None
    return size_along(container.shape, _value(frame, indices[0].value))


def _is_as_long_on_all(frame: Frame, container: Value, node: cst.Subscript) -> bool:
    """Whether a part of a tensor is as long on all ranks, as far as is known, although its elements differ."""
    index = node.slice[0].slice
    if container.rank.differs:
        if not isinstance(index, cst.Index) or _value(frame, index.value).kind is not Kind.TENSOR:
            return False
        return selects_as_many(frame.root, index.value)
    return _is_part_of_common_length(frame, node)


def _is_part_of_common_length(frame: Frame, node: cst.Subscript) -> bool:
    """Whether a subscript cuts a part that is equally long on all ranks, as far as is known, wherever it starts.

    rewards[rank * n : (rank + 1) * n], rewards[own] with own = slice(rank * n, (rank + 1) * n)

    Where a loop cuts one part after the other, `rewards[start : start + n]`, some ranks may be left with fewer.
    """
    index = node.slice[0].slice
    cuts = [index] if isinstance(index, cst.Slice) else _made_slices(frame.root, index)
    loops = [each for each in of_class(frame.root, cst.For) if _is_range(each.iter)]
    steps = {name for each in loops for name in names_in(each.target)}
    return bool(cuts) and all(
        each is not None and _is_of_common_length(frame, each) and names_in(each).isdisjoint(steps) for each in cuts
    )


def _is_range(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and last_name(node.func) == "range"


def _made_slices(root: cst.CSTNode, index: cst.BaseSlice) -> Sequence[cst.Slice | None]:
    """The slices that a name stands for, wherever it is assigned; None for anything else."""
    if not isinstance(index, cst.Index) or not isinstance(index.value, cst.Name):
        return []
    return [_as_slice(value) for target, value in assignments(root) if target.deep_equals(index.value)]


def _as_slice(value: cst.BaseExpression) -> cst.Slice | None:
    match value:
        case cst.Call(func=cst.Name("slice"), args=[cst.Arg(value=lower), cst.Arg(value=upper)]):
            return cst.Slice(lower, upper)
    return None


def _is_of_common_length(frame: Frame, index: cst.Slice) -> bool:
    """Whether a slice has the same length on all ranks, as far as is known, wherever each of them starts."""
    factors = _factors_of_length(frame.root, index)
    return bool(factors) and all(_is_common(_value(frame, each)) for each in factors)


def _is_common(number: Value) -> bool:
    """Whether a number is the same on all ranks, as far as is known: it may be the number of this rank's samples."""
    return not number.rank.differs or (number.rank.how == "count" and size_of(number) is not RAGGED)


class _Walk:
    """The indices of one subscript, matched with the dimensions of the indexed value, from the first to the last."""

    def __init__(self, frame: Frame, shape: Shape) -> None:
        self.frame = frame
        self.shape = shape
        self.remaining = list(shape.dims)
        self.dims: list[Dim] = []
        self.reason = shape.reason
        self.beyond = 0  # the number of unknown dimensions of an open shape that were used
        self.is_cut = False  # to a length that is not known to be rank-local

    def consume(self, index: cst.BaseSlice, behind: int) -> bool:
        """Process one index, with `behind` more after it; False if the result is unknown."""
        if isinstance(index, cst.Slice):
            self.dims.append(self._cut(index, self._next(behind)))
            return True
        if not isinstance(index, cst.Index):
            return False
        if isinstance(index.value, cst.Ellipsis):
            return self._skip(behind)
        value = _value(self.frame, index.value)
        consume = _BY_KIND.get(value.kind)
        return consume is not None and consume(self, value, behind)

    def result(self) -> Shape | None:
        dims = [*self.dims, *self.remaining]
        if self.shape.open and RAGGED not in dims and not self.shape.tokens and not self.is_cut:
            return None
        # Code that slices the tokens has addressed all dimensions.
        is_open = self.shape.open and not (self.shape.tokens and self.beyond and RAGGED in dims)
        return Shape(dims, self.reason, open=is_open, tokens=is_open and self.shape.tokens and not self.beyond)

    def _next(self, behind: int) -> Dim | None:
        """The next dimension; None if it is an unknown one of an open shape."""
        if self.remaining:
            return self.remaining.pop(0)
        self.beyond += 1
        return None

    def _skip(self, behind: int) -> bool:
        if self.shape.open:
            if not behind:
                return True
            # `logits[..., :-1, :]`: all dimensions but the last two are the samples.
            if not self.shape.tokens or behind > 2:
                return False
            self.dims, self.remaining = [SAME], []
            self.beyond = 1
            return True
        while len(self.remaining) > behind:
            self.dims.append(self.remaining.pop(0))
        return True

    def _cut(self, index: cst.Slice, dim: Dim | None) -> Dim:
        lower, upper = (None if each is None else _value(self.frame, each) for each in (index.lower, index.upper))
        if index.step is not None:
            return UNKNOWN
        if lower is None and upper is None:
            return UNKNOWN if dim is None else dim
        if _is_of_common_length(self.frame, index):
            self.is_cut = True
            return UNKNOWN
        if dim is None:
            # Shifted tokens: there is one token dimension, after that of the samples.
            shifts = _is_shift(lower, upper) and self.shape.tokens
            if shifts:
                self.reason = self.shape.reason
            return RAGGED if shifts else UNKNOWN
        if dim is SAME:
            return SAME if all(bound is None or size_of(bound) is SAME for bound in (lower, upper)) else UNKNOWN
        keeps_start = lower is None or (is_number(lower) and not _is_negative(lower, index.lower))
        keeps_end = upper is None or (type(upper.const) is int and upper.const < 0)
        if keeps_start and keeps_end:
            return dim
        negative = index.lower if upper is None else None
        if isinstance(negative, cst.UnaryOperation) and isinstance(negative.operator, cst.Minus):
            return size_of(_value(self.frame, negative.expression))
        return UNKNOWN

    def _new(self, none: Value, behind: int) -> bool:
        """`x[None]`: a new dimension of one element."""
        self.dims.append(SAME)
        return True

    def _one(self, number: Value, behind: int) -> bool:
        self._next(behind)
        return True

    def _listed(self, numbers: Value, behind: int) -> bool:
        """A list of numbers: one element for each."""
        length = elements(self.frame, numbers)[1]
        if length is not RAGGED:
            return False
        self._next(behind)
        self.dims.append(RAGGED)
        self.reason = PICKED_REASON
        return True

    def _advanced(self, value: Value, behind: int) -> bool:
        """A tensor as an index: a mask, or numbers."""
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
        if not varies(mask) or behind:
            return False
        self.dims.append(RAGGED)
        self.reason = MASK_REASON
        if shape is None or shape.open:
            self.remaining = []
            self.shape = Shape((), open=True)
        else:
            for _ in shape.dims:
                self._next(0)
        return True


# By the kind of an index, the method that matches it with dimensions.
_BY_KIND: Mapping[Kind, Callable[[_Walk, Value, int], bool]] = {
    Kind.NONE: _Walk._new,
    Kind.NUMBER: _Walk._one,
    Kind.CONTAINER: _Walk._listed,
    Kind.BATCH: _Walk._advanced,
    Kind.TENSOR: _Walk._advanced,
    Kind.UNKNOWN: _Walk._advanced,
}


def _is_negative(value: Value, node: cst.CSTNode | None) -> bool:
    if type(value.const) is int:
        return value.const < 0
    return isinstance(node, cst.UnaryOperation)


def _is_shift(lower: Value | None, upper: Value | None) -> bool:
    """`[:-1]` or `[1:]`."""
    if lower is None:
        return upper is not None and type(upper.const) is int and upper.const == -1
    return upper is None and is_one(lower)


def _factors_of_length(root: cst.CSTNode, index: cst.Slice) -> Sequence[cst.BaseExpression]:
    """The factors of the length of a slice; empty if its bounds don't show it. root: the function around it."""
    if index.lower is None or index.upper is None or index.step is not None:
        return ()
    lower, upper = resolved(root, index.lower), resolved(root, index.upper)
    pairs = ((start, end) for end in (index.upper, upper) for start in (index.lower, lower))
    return next((found for start, end in pairs if (found := _distance(start, end))), ())


def _distance(lower: cst.BaseExpression, upper: cst.BaseExpression) -> Sequence[cst.BaseExpression]:
    if not isinstance(upper, cst.BinaryOperation):
        return ()
    if isinstance(upper.operator, cst.Add):
        return _added(lower, upper)
    if not isinstance(upper.operator, cst.Multiply) or not isinstance(lower, cst.BinaryOperation):
        return ()
    if not isinstance(lower.operator, cst.Multiply):
        return ()
    for one, other, common, same in (
        (lower.left, upper.left, lower.right, upper.right),
        (lower.right, upper.right, lower.left, upper.left),
    ):
        found = _distance(one, other) if _are_equal(common, same) else ()
        if found:
            return [*found, common]
    return ()


def _added(lower: cst.BaseExpression, upper: cst.BinaryOperation) -> Sequence[cst.BaseExpression]:
    """The summand `n` of `start` and `start + n`, or `n + start`."""
    for start, added in ((upper.left, upper.right), (upper.right, upper.left)):
        if _are_equal(start, lower):
            return [added]
    return ()


def _are_equal(a: cst.BaseExpression, b: cst.BaseExpression) -> bool:
    """Whether both are the same text, except for parentheses around it."""
    return a.with_changes(lpar=(), rpar=()).deep_equals(b.with_changes(lpar=(), rpar=()))
