"""The values of operators: their ranks here, the other domains through their hooks.

For example:

    x + y        linear: a sum of partial sums is a partial sum
    x / 8        scaling: a partial sum divided by a constant is still a partial sum
    x * y        a product of two rank-local values is no partial sum any more
    a and b      the right side is evaluated only if the left one allows it (see `expressions`)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.interpreter.operations import own_operators, paths, pure_calls
from trl_lint.analysis.program.syntax import resolved
from trl_lint.analysis.state import containers, settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.tensors import tensors
from trl_lint.analysis.transfer.tensors.operands import size_of
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, WORLD_FALSE, WORLD_SIZE, WORLD_TRUE, World
from trl_lint.domain.derived import derived
from trl_lint.domain.devices import GLOBAL_RANK
from trl_lint.domain.heap import WILDCARD, Cell
from trl_lint.domain.kinds import StringValue
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.shapes import RAGGED
from trl_lint.domain.small_tuples import items_or_itself
from trl_lint.domain.values import Kind, Value

# By type: `isinstance` takes ten times as long for LibCST nodes.
_ADD = frozenset({cst.Add, cst.AddAssign})
_LINEAR = _ADD | {cst.Subtract, cst.SubtractAssign}
_MULTIPLY = frozenset({cst.Multiply, cst.MultiplyAssign})
_DIVIDE = frozenset({cst.Divide, cst.DivideAssign})
_REMAINDER = frozenset({cst.Modulo, cst.ModuloAssign})
_WHOLE = _REMAINDER | {cst.FloorDivide, cst.FloorDivideAssign}
_OR = frozenset({cst.BitOr, cst.BitOrAssign})
_BITS = _OR | {cst.BitAnd, cst.BitAndAssign, cst.BitXor, cst.BitXorAssign}


def add_texts(frame: Frame, texts: Sequence[Value]) -> Value:
    """The concatenation of several strings."""
    rank = ranks.combine_all(text.rank for text in texts)
    const = "".join(text.const if isinstance(text.const, str) else WILDCARD for text in texts)
    return made_of(frame, texts, derived(rank, Kind.STRING, *texts, const=known_text(const)))


def made_of(frame: Frame, parts: Sequence[Value], text: Value) -> Value:
    """A text with what the domains know of it by its parts: whether it names a device by the rank."""
    for refine in frame.domains.text:
        text = refine(frame, parts, text)
    drawn = next((each for each in parts if each.rank == ranks.DRAWN and each.provenance is not None), None)
    if drawn is None or text.rank.state is not State.UNKNOWN:
        return text
    return text.replace(rank=ranks.DRAWN, provenance=drawn.provenance)  # a prompt of a row that was drawn


def formatted(frame: Frame, part: cst.FormattedStringExpression, value: Value) -> Value:
    """A value in an f-string, with what the domains know of it by what stands behind the colon: `f"{now:%H-%M}"`."""
    if part.format_spec is None or not all(isinstance(each, cst.FormattedStringText) for each in part.format_spec):
        return value
    form = "".join(each.value for each in part.format_spec if isinstance(each, cst.FormattedStringText))
    for refine in frame.domains.method:
        value = refine(frame, value, "__format__", Arguments([StringValue(ranks.SAME, const=form)]), part, value)
    return value


# A field of `"cuda:%d" % rank`.
_FIELD = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[dirsuxX]")
# A longer text is no name of anything; `text += text` doubles it each time.
_MAX_TEXT = 10_000


def known_text(text: str) -> object:
    """A text as a constant, if it is short enough to be a name."""
    return text if len(text) <= _MAX_TEXT else MISSING


def operate(frame: Frame, operator: cst.CSTNode, left: Value, right: Value, node: cst.CSTNode) -> Value:
    """The value of a binary operation."""
    kind = type(operator)
    other_result = _of_other_kinds(frame, kind, left, right, node)
    if other_result is not None:
        return other_result
    divides = kind in _DIVIDE
    if kind in _LINEAR:
        rank = ranks.combine_linear(left.rank, right.rank)
        if not rank.how:  # `len(chunks) - 1`
            rank = ranks.of_counts(rank, (left.rank, right.rank))
    elif divides or kind in _MULTIPLY:
        rank = ranks.combine_scaling(left.rank, right.rank)
        weighted = None if divides else ranks.weighted(left.rank, right.rank)
        if weighted is not None:
            rank = weighted
        elif _is_weighted_average(left, right) if divides else _is_total_count(frame, left, right, node):
            rank = ranks.UNKNOWN
        elif not divides and _is_zero(left, right):
            rank = ranks.ZERO
        elif not _keeps_reduction(left, right, node, divides):
            rank = tensors.collapsed(rank)
    else:
        rank = ranks.nonlinear(ranks.combine(left.rank, right.rank))
        if kind in _WHOLE:
            rank = ranks.of_counts(rank, (left.rank, right.rank))
    result = tensors.arithmetic(rank, left, right, divides)
    if kind in _BITS and left.dtype == right.dtype == "bool":
        result = result.replace(dtype="bool")
    for refine in frame.domains.operator:
        result = refine(frame, operator, left, right, node, result)
    if result.rank.differs and result.rank.how == "count" and kind in _WHOLE:
        result = result.replace(
            shape=left.shape or right.shape
        )  # as many parts as there are samples, whatever their number
    return result


def _of_other_kinds(
    frame: Frame, kind: type[cst.CSTNode], left: Value, right: Value, node: cst.CSTNode
) -> Value | None:
    """The result of an operation on objects, containers, strings or paths; None for other operands."""
    own = own_operators.of_objects(frame, kind, left, right, node)
    if own is not None:
        return own
    if kind in _ADD:
        return _concatenation(frame, left, right, node)
    if kind in _DIVIDE:
        return paths.joined(left, right)
    if kind in _REMAINDER and left.kind is Kind.STRING:
        return filled(frame, left, _counted(node, right))
    if kind in _OR and left.kind is Kind.CONTAINER:
        merged = containers.merged_into(frame, containers.merged_into(frame, Cell("dict"), left), right)
        return frame.allocate(node, merged)
    repeated = next((each for each in (left, right) if each.kind is Kind.CONTAINER), None)
    if kind in _MULTIPLY and repeated is not None:
        return _repeated(frame, repeated, right if repeated is left else left, node)
    return None


def _repeated(frame: Frame, value: Value, times: Value, node: cst.CSTNode) -> Value:
    """`[None] * world_size`: a list of the same elements, several times."""
    element, length = containers.iterate(frame, value)
    if (
        times.const is WORLD_SIZE
        and length.state is State.SAME
        and len(containers.positions_of(frame, value) or ()) == 1
    ):
        length = ranks.PER_RANK
    return frame.allocate(node, Cell("list", rest=element, length=length))


def _counted(node: cst.CSTNode, values_put: Value) -> Value:
    """What `"%s-%d" % (name, global_step)` puts into a text; counters are the same on all ranks."""
    expression = node.right if isinstance(node, cst.BinaryOperation) else None
    if isinstance(expression, cst.Tuple) and values_put.items:
        pairs = list(zip(expression.elements, values_put.items, strict=False))
        if len(pairs) == len(expression.elements) == len(values_put.items):
            return values_put.with_parts(tuple(settings.count_by_name(each.value, value) for each, value in pairs))
    return values_put if expression is None else settings.count_by_name(expression, values_put)


def filled(frame: Frame, form: Value, values_put: Value) -> Value:
    """`"%s_%d" % (name, rank)`, `"{r}".format_map(row)`: a string with the values put into it."""
    parts = items_or_itself(values_put)
    if values_put.kind is Kind.CONTAINER:
        parts = [cell.element() for cell in frame.memory.cells(values_put)]
    values = tuple(map(pure_calls.text_of, (form, *parts)))
    rank = ranks.combine_all(each.rank for each in values)
    const = _filled_in(form.const)
    return made_of(frame, values, derived(ranks.nonlinear(rank), Kind.STRING, *values, const=const, device=""))


def _filled_in(form: object) -> object:
    """A text with something unknown in place of each field; MISSING if it has `%%`, or a field that is seldom used."""
    if not isinstance(form, str):
        return MISSING
    text = _FIELD.sub(WILDCARD, form)
    return MISSING if "%" in text else known_text(text)


def _is_total_count(frame: Frame, left: Value, right: Value, node: cst.CSTNode) -> bool:
    """Whether a rank's number of samples, or of tokens, is multiplied by the number of ranks: about that of all ranks.

    So is their number per step, `seen / steps * world_size * all_steps`.
    """
    if WORLD_SIZE not in (left.const, right.const):
        return False
    parts = (node.left, node.right) if isinstance(node, cst.BinaryOperation) else ()
    counts = (left, right, *(_scaled_count(frame, each) for each in parts))
    return any(size_of(each) is not RAGGED for each in counts if _is_count(each))


def _is_count(value: Value) -> bool:
    """Whether a number counts a rank's samples, or is a size of its batches: how many tokens one of them has."""
    if value.rank.how or not value.rank.differs:
        return value.rank.differs and value.rank.how == "count"
    return value.kind is Kind.NUMBER and value.dtype == "int" and value.rank.origins == Origin.DATA


def _scaled_count(frame: Frame, node: cst.BaseExpression) -> Value:
    """What an expression multiplies or divides by what is the same on all ranks; the value of any other one."""
    passed = set[int]()  # a name may stand for itself: `rows = rows * world_size`
    while id(scaled := resolved(frame.root, node)) not in passed:
        passed.add(id(scaled))
        match scaled:
            case cst.BinaryOperation(
                left=count, operator=cst.Divide() | cst.FloorDivide() | cst.Multiply(), right=factor
            ):
                if not frame.value_of(factor).rank.differs:
                    node = count
    return frame.value_of(node)


def _is_zero(left: Value, right: Value) -> bool:
    """Whether something unknown is multiplied by 0: an offset by the rank, where one process runs."""
    other = right if left.rank == ranks.ZERO else left
    is_unknown = other.rank.state is State.UNKNOWN and other.kind in (Kind.UNKNOWN, Kind.NUMBER)
    return ranks.ZERO in (left.rank, right.rank) and is_unknown


def _is_weighted_average(left: Value, right: Value) -> bool:
    """Whether reduced values are averaged with this rank's numbers of samples as weights: nearly the same on all.

    For example, `meter.update(loss.item(), input.size(0))` of a loss that was reduced before.
    Source: https://github.com/hszhao/semseg (tool/train.py, `validate`).
    """
    return left.rank.how == ranks.WEIGHTED and right.rank.differs and right.rank.how == "count"


def _keeps_reduction(left: Value, right: Value, node: cst.CSTNode, divides: bool) -> bool:
    """Whether a product or quotient is a partial result of the same reduction as its left side.

    A sum divided by a count that happens to be the same on all ranks is a rank-local average, and a value scaled by the
    number of ranks has been prepared for another sum.
    """
    if WORLD_SIZE in (left.const, right.const):
        return False
    if not divides:
        return True
    if right.rank.differs:
        return False
    divisor = getattr(node, "right", getattr(node, "value", None))
    return left.rank.how not in ("sum", "count") or isinstance(divisor, cst.BaseNumber)


# As many as a list may be built of, item by item.
_MOST_ITEMS = 16


def _concatenation(frame: Frame, left: Value, right: Value, node: cst.CSTNode) -> Value | None:
    if left.kind is right.kind is Kind.STRING or (left.kind is Kind.STRING and right.device == GLOBAL_RANK):
        return add_texts(frame, (left, right))  # `"cuda:" + str(rank)`
    if {left.kind, right.kind} == {Kind.STRING, Kind.UNKNOWN} and ranks.RANK_LOCAL in (left.rank, right.rank):
        return add_texts(frame, (left, right))  # `args.tag + str(rank)`: of an option nothing is known
    if left.kind is right.kind is Kind.UNKNOWN and right.device == GLOBAL_RANK:
        return add_texts(frame, (left, right))  # `tag + str(int(os.environ["RANK"]))`: the rank as a text
    if left.kind is right.kind is Kind.TUPLE:
        return containers.tuple_of(frame, left.items + right.items, node)
    if Kind.CONTAINER in (left.kind, right.kind):
        items = [containers.positions_of(frame, each) for each in (left, right)]
        if items[0] is not None and items[1] is not None and len(items[0]) + len(items[1]) < _MOST_ITEMS:
            return frame.allocate(node, Cell("list", dict(enumerate(items[0] + items[1]))))
        (first, one), (second, two) = containers.iterate(frame, left), containers.iterate(frame, right)
        length = ranks.of_counts(ranks.combine(one, two), (one, two))
        return frame.allocate(node, Cell("list", rest=containers.one_among((first, second)), length=length))
    return None


def negated(const: object, known: bool) -> World | bool:
    """The constant value of `not` for a constant whose truth is known."""
    if isinstance(const, World):
        return WORLD_FALSE if known else WORLD_TRUE
    return not known
