"""Settings that are recognised by their names: `args.rank == 0`, `config["world_size"] > 1`, `if args.single_gpu:`.

And a parameter for a rank, or for the number of ranks, that a call gives none: `rank == -1` and `world_size < 1` hold
in `make_loader(rows, rank=-1, world_size=-1)`.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import identifiers, last_name, of_class, precedes
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, WORLD_FALSE, GivenNumber
from trl_lint.domain.numbers import is_one
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.heuristics import (
    MAY_ASK_FOR_RANK,
    ONE_PROCESS_FIELD,
    RANK_FIELD,
    RANK_OF_MATRICES,
    SETTINGS_OBJECT,
    WORLD_FIELD,
)
from trl_lint.knowledge.schema import RANK_INDEX, WORLD


def with_flag_of_one(node: cst.Attribute, value: Value) -> Value:
    """The value of an attribute; false for several processes if it is a setting that asks for one of them."""
    if value.const is not MISSING or value.rank.differs or value.kind not in (Kind.NUMBER, Kind.UNKNOWN):
        return value
    is_flag = ONE_PROCESS_FIELD.fits(node.attr.value) and SETTINGS_OBJECT.fits(last_name(node.value))
    return value.replace(rank=ranks.SAME, const=WORLD_FALSE) if is_flag else value


def by_name(frame: Frame, expression: cst.BaseExpression, left: Value, right: Value) -> Value:
    """The left side of a comparison, or what its name shows it to be."""
    if _is_field_of_rank(frame, expression, left, right):
        left = RANK_INDEX.replace(provenance=frame.step(expression, "`{}` differs between ranks"))
    if _is_field_of_world(expression, left):
        return WORLD
    return left.replace(const=GivenNumber(left.const)) if _is_no_rank(frame, expression, left) else left


def _is_no_rank(frame: Frame, expression: cst.BaseExpression, value: Value) -> bool:
    """Whether it is a parameter for a rank, or for how many there are, that this call gives a number for none."""
    if type(value.const) is not int or value.const > 0 or value.rank.differs or frame.function is None:
        return False
    if not isinstance(expression, cst.Name):
        return False
    is_none = value.const < 0 and MAY_ASK_FOR_RANK.fits(expression.value)
    if not (is_none or WORLD_FIELD.fits(expression.value)):
        return False
    return any(each.name == expression.value for each in frame.function.parameters)


def _is_field_of_world(expression: cst.BaseExpression, value: Value) -> bool:
    """Whether `args.world_size` is the number of processes: an unknown number, or 1 until the launcher's is known."""
    is_open = value.const is MISSING and value.kind in (Kind.NUMBER, Kind.UNKNOWN)
    if value.rank.differs or not (is_open or is_one(value)):
        return False
    match expression:
        case cst.Attribute(attr=cst.Name(name)):
            return WORLD_FIELD.fits(name)
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
            return WORLD_FIELD.fits(key.raw_value)
    return False


def _is_field_of_rank(frame: Frame, expression: cst.BaseExpression, left: Value, right: Value) -> bool:
    """Whether `args.rank` is compared with the first rank of the job, or of a node (`args.rank % gpus`).

    Not one that is the number of the node until then, though. Also one of several values, if the others are for runs
    without ranks: `args.gpu in {0, "cpu"}`.
    """
    if left.rank.differs or left.const is not MISSING:
        return False
    is_listed = right.kind in (Kind.CONTAINER, Kind.TUPLE)
    listed = [item.const for item in frame.memory.contents(right)]
    consts = [each for each in listed if not isinstance(each, str)] if is_listed else [right.const]
    if not consts or any(type(const) is not int or const not in (-1, 0) for const in consts):
        return False
    if isinstance(expression, cst.BinaryOperation) and isinstance(expression.operator, cst.Modulo):
        expression = expression.left
    if not isinstance(expression, cst.Attribute) or not RANK_FIELD.fits(expression.attr.value):
        return False
    return not (_is_of_matrices(frame, expression) or _is_still_of_node(frame, expression))


def _is_still_of_node(frame: Frame, field: cst.Attribute) -> bool:
    """Whether a field becomes the rank of a process only afterwards: `args.rank = args.rank * gpus + gpu`."""
    return any(
        isinstance(each.value, cst.BinaryOperation)
        and any(target.target.deep_equals(field) for target in each.targets)
        and any(part.deep_equals(field) for part in of_class(each.value, cst.Attribute))
        and precedes(frame.root, field, each)
        for each in of_class(frame.root, cst.Assign)
    )


def _is_of_matrices(frame: Frame, field: cst.BaseExpression) -> bool:
    """Whether a field called `rank` is that of matrices, by what has it: `config.lora.rank`, `self.rank` of a layer."""
    match field:
        case cst.Attribute(value=cst.Name("self"), attr=cst.Name("rank")):
            return frame.cls is not None and RANK_OF_MATRICES.fits(frame.cls.name)
        case cst.Attribute(value=owner, attr=cst.Name("rank")):
            return any(map(RANK_OF_MATRICES.fits, identifiers(owner)))
    return False
