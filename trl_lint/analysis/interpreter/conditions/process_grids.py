"""Conditions that would only hold for ranks outside a job, or outside the grid that its ranks form: there are none.

rank >= dist.get_world_size()                   false
side = math.floor(math.sqrt(world_size))
row, column = rank // side, rank % side
row >= side, column >= side                     false: the coordinates of a rank lie in the grid
rank // gpus >= world_size // gpus              false, as the number of the last row is one less
rank >= world_size // 2                         open: half of the ranks
rank // 8 >= world_size // 16                   open: half of the nodes
rank >= torch.cuda.device_count()               open: the ranks of all other nodes
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import below, last_name, resolved
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import ONE_PROCESS_FIRST, WORLD_SIZE
from trl_lint.domain.kinds import flag
from trl_lint.domain.numbers import single_process_value
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.backends import COUNTS_GPUS
from trl_lint.knowledge.python import ROOTS, ROUNDED

# By class, because `isinstance` takes ten times as long for LibCST nodes.
_WITHIN = frozenset({cst.LessThan, cst.NotEqual})
_BEYOND = frozenset({cst.GreaterThanEqual, cst.Equal})
_DIVIDES = frozenset({cst.FloorDivide, cst.Divide, cst.Modulo})
# How many assignments lead from a coordinate to the rank.
_DEEPEST = 4


def decided(frame: Frame, node: cst.Comparison, left: Value) -> Value | None:
    """The value of a comparison of a rank, or of its place in a grid, with the number of all; None for all others.

    left: the value of the left side.
    """
    target = node.comparisons[0]
    operator = type(target.operator)
    if not (left.rank.is_by_rank and (operator in _WITHIN or operator in _BEYOND)) or len(node.comparisons) != 1:
        return None
    right = frame.engine.evaluate(frame, target.comparator)
    is_rank = left.kind is Kind.NUMBER and single_process_value(left) is ONE_PROCESS_FIRST
    if is_rank and right.const is WORLD_SIZE:
        is_known = _counts_job(frame, target.comparator)
    else:
        is_known = _lies_in_grid(frame, node.left, target.comparator)
    return flag(operator in _WITHIN) if is_known else None


def _counts_job(frame: Frame, size: cst.BaseExpression) -> bool:
    """Whether a number of processes is that of the job, as far as known here, and not of a group or one machine."""
    counted = _known(frame, size)
    return not isinstance(counted, cst.Call) or not (counted.args or last_name(counted.func) == COUNTS_GPUS)


def _lies_in_grid(frame: Frame, coordinate: cst.BaseExpression, side: cst.BaseExpression) -> bool:
    """Whether a coordinate that is computed from the rank is below the number of such coordinates."""
    place, length = _known(frame, coordinate), _known(frame, side)
    match place:
        case cst.BinaryOperation(operator=cst.Modulo(), right=divisor) if _known(frame, divisor).deep_equals(length):
            return True
    if not _is_coordinate(frame, place, _DEEPEST):
        return False
    match length:
        case cst.BinaryOperation(left=count, operator=cst.FloorDivide() | cst.Divide(), right=number):
            of_place = _divisor(place)
            return of_place is not None and of_place.deep_equals(number) and _is_world(frame, count)
    return _is_side(frame, length)


def _divisor(place: cst.BaseExpression) -> cst.BaseExpression | None:
    match place:
        case cst.BinaryOperation(operator=cst.FloorDivide() | cst.Divide(), right=divisor):
            return divisor
    return None


def _is_coordinate(frame: Frame, place: cst.BaseExpression, depth: int) -> bool:
    """`rank // side`, `rank // side % side`, or what is left of the rank: `rank - row * side`."""
    if not depth or not isinstance(place, cst.BinaryOperation):
        return False
    operator = type(place.operator)
    if operator is cst.Subtract:
        rest = (each for each in below(place.right) if isinstance(each, cst.Name))
        return frame.value_of(place.left).rank.is_by_rank and any(
            _is_coordinate(frame, _known(frame, each), depth - 1) for each in rest
        )
    return operator in _DIVIDES and frame.value_of(place.left).rank.is_by_rank


def _is_side(frame: Frame, length: cst.BaseExpression) -> bool:
    """Whether a number is a root of the number of processes, or what a function makes of that number alone."""
    match length:
        case cst.BinaryOperation(left=base, operator=cst.Power()):
            return _is_world(frame, base)
        case cst.Call(func=function, args=[cst.Arg(value=size)]):
            is_own = isinstance(function, cst.Name) and frame.engine.evaluate(frame, function).kind is Kind.FUNCTION
            return (is_own or last_name(function) in ROOTS) and _is_world(frame, size)
    return False


def _is_world(frame: Frame, number: cst.BaseExpression) -> bool:
    return frame.value_of(number).const is WORLD_SIZE


def _known(frame: Frame, number: cst.BaseExpression) -> cst.BaseExpression:
    """What a number is computed as, without its rounding: `rank / 4` for a name that `int(rank / 4)` is assigned to."""
    number = resolved(frame.root, number)
    while isinstance(number, cst.Call) and last_name(number.func) in ROUNDED and len(number.args) == 1:
        number = number.args[0].value
    needs_brackets = isinstance(number, (cst.GeneratorExp, cst.Tuple))
    return number.with_changes(lpar=(), rpar=()) if number.lpar and not needs_brackets else number
