"""The names that a test asks for: its settings, the names these were computed from, and whether it asks for the rank.

For example:

    if args.distributed and is_main_process():       distributed; the rank is not included
    use_ddp = args.gpus > 1
    if use_ddp:                                      use_ddp, gpus
    if epoch % args.every == 0:                      every: tests for other turns of a loop may hold in the same one
"""

from __future__ import annotations

import builtins
from collections.abc import Hashable, Iterator
from typing import TypeAlias

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import none_test_operand
from trl_lint.analysis.program.syntax import assignments, below, last_name, loop_targets, names_in, of_class, operands
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind
from trl_lint.knowledge.heuristics import COUNTER, LAST_COUNT
from trl_lint.knowledge.launcher_variables import ENVIRON

# Names that say nothing about what a test checks. The code's own names with the same spelling are included.
_BUILTINS = frozenset(vars(builtins))
# How many assignments the names in a condition are followed back through: `ddp = world_size > 1`.
_FOLLOWED = 2


def names_tested(frame: Frame, test: cst.BaseExpression) -> frozenset[str]:
    """The names that a test asks for, and those from which they were computed in this function.

    The rank is not among them: it distinguishes the processes of one run, which wrap a model on all of them or on none.
    """
    return frozenset(map(_last_part, _all_tested(frame, test)))


def _all_tested(frame: Frame, test: cst.BaseExpression) -> list[_Tested]:
    found = [each for each in _tested(frame, test) if not is_of_rank(frame, each)]
    if none_test_operand(test) is not None:
        return found  # whether it is None does not depend on what it was computed from
    assignments = [*assigned(frame), *((target.attr.value, value) for target, value in assigned_attributes(frame))]
    for _ in range(_FOLLOWED):
        names = set(map(_last_part, found))
        found += [each for target, value in assignments if target in names for each in _tested_in_value(frame, value)]
    return found


def tests_model(frame: Frame, test: cst.BaseExpression, key: str | tuple[Hashable, str]) -> bool:
    """Whether a test asks for a model itself: `args.model` is not the name `model`."""
    if not isinstance(key, str):
        return key[1] in names_tested(frame, test)
    return any(isinstance(each, cst.Name) and each.value == key for each in _all_tested(frame, test))


class Assigned:
    """The names that the code of a frame assigns, and the attributes, each with the expression bound to it."""

    def __init__(self) -> None:
        self.pairs: tuple[tuple[str, cst.BaseExpression], ...] | None = None
        self.attributes: tuple[tuple[cst.Attribute, cst.BaseExpression], ...] | None = None


def assigned(frame: Frame) -> tuple[tuple[str, cst.BaseExpression], ...]:
    known = frame.notes.of(Assigned)
    if known.pairs is None:
        known.pairs = tuple(
            (target.value, value) for target, value in assignments(frame.root) if isinstance(target, cst.Name)
        )
    return known.pairs


def assigned_attributes(frame: Frame) -> tuple[tuple[cst.Attribute, cst.BaseExpression], ...]:
    """The attributes that the code of a frame assigns, each with its value: `args.several = args.world_size > 1`."""
    known = frame.notes.of(Assigned)
    if known.attributes is None:
        known.attributes = tuple(
            (target, value) for target, value in assignments(frame.root) if isinstance(target, cst.Attribute)
        )
    return known.attributes


class NamedParts:
    """The names in the expressions of a frame, and the methods that they call, by the ids of nodes."""

    def __init__(self) -> None:
        self.names: dict[int, tuple[_Tested, ...]] = {}
        self.methods: dict[int, frozenset[int]] = {}


_Tested: TypeAlias = cst.Attribute | cst.Name | cst.SimpleString


def _tested_in_value(frame: Frame, value: cst.BaseExpression) -> Iterator[_Tested]:
    """The names in the expression assigned to a name; the method is not one: not the `get` of `args.get("ddp")`."""
    known = frame.notes.of(NamedParts).methods
    methods = known.get(id(value))
    if methods is None:
        methods = known[id(value)] = _methods_called(value)
    return (each for each in _tested(frame, value) if isinstance(each, cst.Name) or id(each) not in methods)


def _methods_called(value: cst.CSTNode) -> frozenset[int]:
    return frozenset(id(each.func) for each in below(value) if isinstance(each, cst.Call) and each.args)


def _tested(frame: Frame, node: cst.CSTNode) -> Iterator[_Tested]:
    """The names in an expression, without the objects whose attributes they are: `ddp` for `args.ddp`.

    String literals count as names: `DDP` alone for `os.environ.get("DDP")`.
    """
    known = frame.notes.of(NamedParts).names
    if id(node) not in known:
        known[id(node)] = tuple(_named_in(node))
    for each in known[id(node)]:
        if not isinstance(each, cst.Attribute) or not (
            _is_environment(frame, each) or _is_environment(frame, each.value)
        ):
            yield each


def _named_in(node: cst.CSTNode) -> Iterator[_Tested]:
    parts = {id(part) for each in below(node) if isinstance(each, cst.Attribute) for part in (each.value, each.attr)}
    counters = _counters_in(node)
    for each in below(node):
        if id(each) in counters:
            continue
        match each:
            case cst.Name(value=name) if id(each) not in parts and name not in _CONSTANTS:
                yield each
            case cst.Attribute() | cst.SimpleString():
                yield each


def _counters_in(node: cst.CSTNode) -> set[int]:
    """The ids of counters in an expression of which it only asks whether a setting divides them."""
    return {
        id(each)
        for division in of_class(node, cst.BinaryOperation)
        if isinstance(division.operator, cst.Modulo) and isinstance(division.right, (cst.Attribute, cst.Name))
        for each in operands(division.left)
        if COUNTER.fits(last_name(each))
    }


_CONSTANTS = frozenset({"False", "None", "True"})


def _last_part(tested: _Tested) -> str:
    match tested:
        case cst.Attribute():
            return tested.attr.value
        case cst.SimpleString():
            return tested.raw_value
    return tested.value


def _is_environment(frame: Frame, node: cst.CSTNode) -> bool:
    return library_name_of(frame.known_value(node)) == ENVIRON


def is_of_rank(frame: Frame, tested: cst.CSTNode) -> bool:
    return frame.value_of(tested).rank.is_by_rank


def is_uniform(frame: Frame, tested: cst.CSTNode) -> bool:
    return frame.value_of(tested).rank.is_uniform


def is_of_own_data(frame: Frame, test: cst.BaseExpression) -> bool:
    """Whether a test asks for nothing but data of this rank, `torch.isnan(loss)`: no setting decides about these."""
    if isinstance(test, cst.BooleanOperation):
        return is_of_own_data(frame, test.left) and is_of_own_data(frame, test.right)
    rank = frame.value_of(test).rank
    return rank.differs and rank.origins == Origin.DATA


def settings_tested(frame: Frame, test: cst.BaseExpression) -> frozenset[str] | None:
    """The names in a test, without loop variables and parts that depend on the rank; None if one may be anything.

    A parameter `n` may be the number of processes. `epoch` and `max_steps` are not, nor a container in which a key is
    looked up, nor the batch of a loop. A name to which only a setting is assigned, `n = config.n`, stands for it.
    """
    names: set[str] = set()
    for part in _parts_without_rank(frame, test):
        if any(
            _may_be_anything(frame, part, each)
            for each in _tested(frame, part)
            if not _is_compared_with_text(part, each)
        ):
            return None
        names |= names_tested(frame, part)
        names |= {setting for each in _tested(frame, part) if (setting := _setting_held(frame, each))}
    return frozenset(names - loop_targets(frame.root))


def _may_be_anything(frame: Frame, part: cst.BaseExpression, tested: _Tested) -> bool:
    if not isinstance(tested, cst.Name) or tested.value in _BUILTINS:
        return False
    if COUNTER.fits(tested.value) or LAST_COUNT.fits(tested.value):
        return False
    if _setting_held(frame, tested):
        return False
    if _tests_kind_or_emptiness(part, tested) and _holds_several(frame, tested.value):
        return False
    is_unknown = frame.value_of(tested).kind is Kind.UNKNOWN
    return is_unknown and tested.value not in loop_targets(frame.root)


def _setting_held(frame: Frame, tested: _Tested) -> str:
    """The name of the setting that a local name stands for, `depth` for `d` after `d = config.model.depth`."""
    if not isinstance(tested, cst.Name):
        return ""
    parameters = frame.function.parameters if frame.function is not None else ()
    if tested.value in loop_targets(frame.root) or any(each.name == tested.value for each in parameters):
        return ""
    match [value for target, value in assigned(frame) if target == tested.value]:
        case [cst.Attribute() as setting]:
            return setting.attr.value
    return ""


def _tests_kind_or_emptiness(part: cst.BaseExpression, tested: cst.Name) -> bool:
    """Whether a test checks whether the value of this name is empty, or what its type is."""
    match part:
        case cst.Call(func=cst.Name(value="isinstance"), args=[cst.Arg(value=subject), _]):
            return subject is tested
    return part is tested


def _holds_several(frame: Frame, name: str) -> bool:
    """Whether a name is bound to a container or a string, not to a number of processes.

    def tell(rows: list[str] | None): …         for row in rows: …              [len(row) for row in rows]
    """
    looped = [each.iter for each in of_class(frame.root, cst.For)]
    looped += [each.iter for each in of_class(frame.root, cst.CompFor)]
    if any(isinstance(each, cst.Name) and each.value == name for each in looped):
        return True
    parameters = frame.function.parameters if frame.function is not None else ()
    annotation = next((each.annotation for each in parameters if each.name == name and not each.star), None)
    return annotation is not None and not _CONTAINERS.isdisjoint(names_in(annotation))


_CONTAINERS = frozenset({"Dict", "Iterable", "List", "Mapping", "Sequence", "Tensor", "dict", "list", "str"})


def _is_compared_with_text(part: cst.BaseExpression, tested: _Tested) -> bool:
    """Whether a test asks whether something is in what a name stands for, `"val" in data`, which text it stands for,
    `method == "beam"`, or for what it has under a key, which is a name as well: `options["pretrained"]`.
    """
    subscripts = (each for each in below(part) if isinstance(each, cst.Subscript) and each.value is tested)
    if any(isinstance(text, cst.SimpleString) for each in subscripts for text in _keys(each)):
        return True
    match part:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=listed)]) if (
            listed is tested
        ):
            return True
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=other)]) if left is tested:
            return all(isinstance(each, cst.SimpleString) for each in _elements_of(other))
    return False


def _keys(node: cst.Subscript) -> Iterator[cst.BaseExpression]:
    return (each.slice.value for each in node.slice if isinstance(each.slice, cst.Index))


def _elements_of(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The elements of a list, tuple or set display; for any other node, the node itself."""
    if isinstance(node, (cst.List, cst.Tuple, cst.Set)):
        return [each.value for each in node.elements] or [node]
    return [node]


def _parts_without_rank(frame: Frame, test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The parts of a test that do not depend on the rank."""
    if isinstance(test, cst.BooleanOperation):
        yield from _parts_without_rank(frame, test.left)
        yield from _parts_without_rank(frame, test.right)
    elif isinstance(test, cst.UnaryOperation):
        yield from _parts_without_rank(frame, test.expression)
    elif not is_of_rank(frame, test):
        yield test
