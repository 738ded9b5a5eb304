"""Models that are wrapped on one way only, and the tests by which code tells the two apart.

if distributed:
    model = DDP(model)
model.config                                            MAYBE: an error where `distributed` holds
if hasattr(model, "module"): …                          WRAPPED in here, BARE in the `else`
if type(model) == DDP: …                                the same
model.module.config if distributed else model.config    the same: the condition under which it was wrapped
if args.distributed_backend: …                          `distributed` may follow from it or not: silent in here
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

import libcst as cst

from trl_lint.analysis.program.objects import class_names
from trl_lint.analysis.program.syntax import below, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.constants import WORLD_FALSE, WORLD_TRUE
from trl_lint.domain.heap import Memory
from trl_lint.domain.kinds import NumberValue
from trl_lint.domain.provenance import Step, WrappedWhere
from trl_lint.domain.values import UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge import library, models

_Key = TypeVar("_Key", str, tuple[Hashable, str])

# How far the names in a condition are followed to what they were made of: `ddp = world_size > 1`.
_FOLLOWED = 2
_EITHER = frozenset({Wrapping.BARE, Wrapping.MAYBE, Wrapping.WRAPPED})


# --- what makes such a model ----------------------------------------------------------------------------


def divided(
    frame: Frame, test: cst.BaseExpression, taken: Mapping[_Key, Value], skipped: Mapping[_Key, Value]
) -> dict[_Key, Value]:
    """What is bound to a wrapped model on one way of an `if` and to a bare one on the other."""
    found = {}
    for name, value in taken.items():
        if value.kind is Kind.MODEL:
            other = skipped.get(name)
            if other is not None and other is not value:
                either = either_way(frame, test, value, other)
                if either is not None:
                    found[name] = either
    return found


def either_way(frame: Frame, test: cst.BaseExpression, yes: Value, no: Value) -> Value | None:
    """The model that is wrapped on one way out of a test and bare on the other; None where it is not."""
    if yes.kind is not Kind.MODEL or no.kind is not Kind.MODEL or yes.wrapping is no.wrapping:
        return None
    if yes.wrapping not in _EITHER or no.wrapping not in _EITHER:
        return None
    known = [each for value in (yes, no) if (each := _condition(value)) is not None]
    names = frozenset().union(_names(frame, test), *(each.names for each in known))
    wrapped = no if yes.wrapping is Wrapping.BARE else yes
    why = WrappedWhere(
        frame.module,
        test,
        "on one way from `{}` on it is wrapped",
        wrapped.why,
        names=names,
        function=frame.function,
        on=None if known else wrapped is yes,
    )
    frame.engine.wraps_on_one_way = True
    return wrapped.but(wrapping=Wrapping.MAYBE, why=why, grad=yes.grad or no.grad)


def _condition(value: Value) -> WrappedWhere | None:
    """The condition under which a model is wrapped, where it is wrapped on one way only."""
    step: Step | None = value.why if value.wrapping is Wrapping.MAYBE else None
    while step is not None:
        if isinstance(step, WrappedWhere):
            return step
        step = step.before
    return None


def _names(frame: Frame, test: cst.BaseExpression) -> frozenset[str]:
    """The names that a test asks for, and those that they were made of in this function."""
    names = set(_asked(test))
    made = [
        (target.target.value, node.value)
        for node in of_class(frame.root, cst.Assign)
        for target in node.targets
        if isinstance(target.target, cst.Name)
    ]
    for _ in range(_FOLLOWED):
        names |= {name for target, value in made if target in names for name in _asked(value)}
    return frozenset(names)


def _asked(node: cst.CSTNode) -> Iterator[str]:
    """The names in an expression, less those of the objects whose attributes they are: of `args.ddp`, `ddp`."""
    owners = {id(each.value) for each in below(node) if isinstance(each, cst.Attribute)}
    for each in below(node):
        if isinstance(each, cst.Attribute):
            yield each.attr.value
        elif isinstance(each, cst.Name) and id(each) not in owners:
            yield each.value


# --- what tells them apart ------------------------------------------------------------------------------


def narrow(frame: Frame, test: cst.BaseExpression, taken: bool) -> None:
    """Refine what is known of models that are wrapped on one way only, where a test has come out as `taken`."""
    frame.has_tested = True
    if not frame.engine.wraps_on_one_way:
        return
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, taken = test.expression, not taken
    asks = question(frame, test)
    subject = asks[0].value if asks is not None and isinstance(asks[0], cst.Name) else ""
    asked = frame.memory.names.get(subject, UNKNOWN)
    _narrow(frame, frame.memory.names, test, taken)
    _narrow(frame, frame.memory.attributes, test, taken)
    if asks is not None and asked.wrapping is Wrapping.MAYBE:
        wrapping = Wrapping.WRAPPED if asks[1] is taken else Wrapping.BARE
        frame.memory.names[subject] = asked.but(wrapping=wrapping)


def _narrow(frame: Frame, values: dict[_Key, Value], test: cst.BaseExpression, taken: bool) -> None:
    asked: frozenset[str] | None = None
    for name, value in values.items():
        if value.kind is not Kind.MODEL or value.wrapping is not Wrapping.MAYBE:
            continue
        condition = _condition(value)
        if condition is not None and condition.function is frame.function:
            if condition.on is not None and test.deep_equals(condition.node):
                wrapping = Wrapping.WRAPPED if condition.on is taken else Wrapping.BARE
                values[name] = value.but(wrapping=wrapping)
                continue
            asked = _names(frame, test) if asked is None else asked
            own = name if isinstance(name, str) else name[1]
            if asked.isdisjoint(condition.names) and own not in asked:
                continue
        values[name] = value.but(wrapping=Wrapping.UNKNOWN)


def changed(before: Memory, memory: Memory) -> dict[str, Value]:
    """The names of models that are wrapped on one way, of which a test says more: with what it says."""
    return {
        name: memory.names[name]
        for name, value in before.names.items()
        if value.kind is Kind.MODEL and value.wrapping is Wrapping.MAYBE and memory.names.get(name, value) is not value
    }


def question(frame: Frame, test: cst.CSTNode) -> tuple[cst.BaseExpression, bool] | None:
    """The model whose wrapper a test asks for, and whether a yes means that there is one."""
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        return _of_class(frame, test.left, test.comparisons[0])
    if not (isinstance(test, cst.Call) and isinstance(test.func, cst.Name) and len(test.args) == 2):
        return None
    subject, wanted = test.args[0].value, frame.node_values.get(id(test.args[1].value))
    if test.func.value == "isinstance":
        return _of_one(subject, class_names(wanted), True)
    if test.func.value == "hasattr" and wanted is not None and isinstance(wanted.const, str):
        if wanted.const in models.ONLY_WRAPPERS_HAVE:
            return subject, True
        return None if wanted.const in library.WRAPPER_ATTRIBUTES else (subject, False)
    return None


_HOLDS_FOR = (cst.Equal, cst.Is, cst.In)
_HOLDS_NOT_FOR = (cst.NotEqual, cst.IsNot, cst.NotIn)


def _of_class(
    frame: Frame, left: cst.BaseExpression, target: cst.ComparisonTarget
) -> tuple[cst.BaseExpression, bool] | None:
    """`type(model) == DDP`, `type(model) in (DDP, DP)`, `model.__class__ is DDP`."""
    if not isinstance(target.operator, (*_HOLDS_FOR, *_HOLDS_NOT_FOR)):
        return None
    match left:
        case cst.Call(func=cst.Name("type"), args=[cst.Arg(value=subject)]):
            pass
        case cst.Attribute(value=subject, attr=cst.Name("__class__")):
            pass
        case _:
            return None
    names = class_names(frame.engine.evaluate(frame, target.comparator))
    return _of_one(subject, names, isinstance(target.operator, _HOLDS_FOR))


def _of_one(subject: cst.BaseExpression, names: list[str], holds: bool) -> tuple[cst.BaseExpression, bool] | None:
    if not names:
        return None
    if not models.WRAPPER_CLASSES.isdisjoint(names):
        return subject, holds
    plain = all(name in models.PLAIN_CLASSES or library.is_model_class(f"transformers.{name}") for name in names)
    return (subject, not holds) if plain else None


def decided(frame: Frame, node: cst.Comparison) -> Value | None:
    """What `type(model) == DDP` says of a model that is known to be wrapped; None of all else."""
    asks = question(frame, node)
    if asks is None:
        return None
    model = frame.engine.evaluate(frame, asks[0])
    if model.kind is not Kind.MODEL or model.wrapping is not Wrapping.WRAPPED:
        return None
    return NumberValue(ranks.SAME, const=WORLD_TRUE if asks[1] else WORLD_FALSE, scalar=True, dtype="bool")
