"""Models that are wrapped on one branch only, and the tests by which code distinguishes the two cases.

For example:

    if distributed:
        model = DDP(model)
    model.config                                            MAYBE: an error if `distributed` holds
    if hasattr(model, "module"): …                          WRAPPED in here, BARE in the `else`
    if type(model) == DDP: …                                the same
    model.module.config if distributed else model.config    the same: the condition under which it was wrapped
    if args.distributed_backend: …                          may be related to `distributed` or not: silent in here
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

import libcst as cst
from libcst.helpers import get_full_name_for_node

from trl_lint.analysis.interpreter.conditions.tested_names import (
    assigned,
    assigned_attributes,
    is_of_own_data,
    is_of_rank,
    is_uniform,
    names_tested,
    settings_tested,
    tests_model,
)
from trl_lint.analysis.interpreter.conditions.wrapper_questions import is_of_other_wrapper, wrapper_test
from trl_lint.analysis.program.idioms.path_conditions import alternatives, none_test_operand, parts_of
from trl_lint.analysis.program.idioms.result_uses import values_with_module
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import of_class, self_attribute
from trl_lint.analysis.state.evaluated_conditions import EvaluatedConditions
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models.wrapped_models import narrowed_to_model
from trl_lint.domain.heap import Memory
from trl_lint.domain.kinds import LibraryInstance, PreparedObject, PureObject, library_name_of
from trl_lint.domain.model_roles import is_undecided, once_tested
from trl_lint.domain.provenance import RequiredOutcome, Step, WrappedWhere, steps
from trl_lint.domain.ranks import State
from trl_lint.domain.values import UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge.engines import ENGINE
from trl_lint.knowledge.heuristics import MAY_ASK_FOR_WRAPPER
from trl_lint.knowledge.schema import BARE_MODEL

_Key = TypeVar("_Key", str, tuple[Hashable, str])

_EITHER = frozenset({Wrapping.BARE, Wrapping.MAYBE, Wrapping.WRAPPED})
_NOTHING_KNOWN = frozenset({State.SAME, State.UNKNOWN})


# --- models wrapped on one branch -----------------------------------------------------------------------


def divided(
    frame: Frame, test: cst.BaseExpression, if_true: Mapping[_Key, Value], if_false: Mapping[_Key, Value]
) -> dict[_Key, Value]:
    """What is bound to a wrapped model on one branch of an `if` and to a bare one on the other."""
    found = {}
    for name, value in if_true.items():
        other = if_false.get(name)
        if other is not None and other is not value and Kind.MODEL in (value.kind, other.kind):
            either = either_model(frame, test, value, other)
            if either is not None:
                found[name] = either
    return found


def either_model(frame: Frame, test: cst.BaseExpression, yes: Value, no: Value) -> Value | None:
    """The join of two models if one is wrapped and the other is bare; None in all other cases."""
    yes, no = _as_other_branch_shows(yes, no), _as_other_branch_shows(no, yes)
    is_divided = any(_is_divided_in_other_function(frame, each) for each in (yes, no))
    if is_divided or is_of_rank(frame, test):
        yes, no = _unwrapped_as_bare(yes), _unwrapped_as_bare(no)
    if yes.kind is not Kind.MODEL or no.kind is not Kind.MODEL or yes.wrapping is no.wrapping:
        return None
    if yes.wrapping not in _EITHER or no.wrapping not in _EITHER:
        return None
    wrapped, other = (no, yes) if yes.wrapping is Wrapping.BARE else (yes, no)
    if any(step is wrapped.provenance for step in steps(other.provenance)):
        return None  # the wrapper is taken off on one branch, so that the test knows of it
    if is_divided and wrapped.wrapping is Wrapping.MAYBE and _asks_for_wrapper(frame, test):
        return other  # what takes the wrapper off on one branch knows that there is none on the other
    if wrapped.provenance is other.provenance and isinstance(wrapped.provenance, WrappedWhere):
        # The test distinguished the two, and something was done to one: `if distributed: model.train()`.
        return wrapped.replace(wrapping=Wrapping.MAYBE, grad=yes.grad or no.grad)
    test, is_true = without_not(test, yes.wrapping is not Wrapping.BARE)
    names = names_tested(frame, test)
    known = [each for value in (yes, no) if (each := _condition(value)) is not None]
    outcomes: tuple[RequiredOutcome, ...] = ()
    if other.wrapping is Wrapping.BARE and all(each.outcomes for each in known):
        outcomes = (RequiredOutcome(test, is_true, names), *(outcome for each in known for outcome in each.outcomes))
    provenance = WrappedWhere(
        frame.module,
        test,
        "whether it is wrapped depends on `{}`",
        wrapped.provenance,
        names=names.union(*(each.names for each in known)),
        function=frame.function,
        outcomes=outcomes,
    )
    frame.engine.wraps_on_one_path = True
    frame.engine.note_stored("wraps on one way")
    return wrapped.replace(wrapping=Wrapping.MAYBE, provenance=provenance, grad=yes.grad or no.grad)


def _as_other_branch_shows(value: Value, other: Value) -> Value:
    """A value, given that the other branch binds the same name to a model.

    Then a prepared object is a model, too. If the other one is wrapped, an unknown value or an engine counts as bare.
    """
    if other.kind is not Kind.MODEL:
        return value
    if isinstance(value, PreparedObject):
        return narrowed_to_model(value)
    is_wrapped = other.wrapping is Wrapping.MAYBE or other.wrapping is Wrapping.WRAPPED
    is_unknown = value.kind is Kind.UNKNOWN and value.rank.state in _NOTHING_KNOWN
    is_module = isinstance(value, (LibraryInstance, PureObject))  # of a class that is no model class in the tables
    return BARE_MODEL if is_wrapped and (is_unknown or is_module or library_name_of(value) == ENGINE) else value


def _is_divided_in_other_function(frame: Frame, value: Value) -> bool:
    """Whether a model is wrapped on one branch of a condition in another function, or if another method has run."""
    condition = _condition(value)
    if condition is None:
        return value.wrapping is Wrapping.MAYBE
    return condition.function is not frame.function


def _unwrapped_as_bare(value: Value) -> Value:
    """A model taken out of its wrapper: bare here, though other ranks or branches may still hold the wrapper."""
    return _bare(value) if value.wrapping is Wrapping.UNWRAPPED else value


def _condition(value: Value) -> WrappedWhere | None:
    """The condition under which a model is wrapped, if it is wrapped on one branch only."""
    step: Step | None = value.provenance if is_undecided(value) else None
    while step is not None:
        if isinstance(step, WrappedWhere):
            return step
        step = step.before
    return None


# --- narrowing by tests ---------------------------------------------------------------------------------


def narrow(frame: Frame, test: cst.BaseExpression, outcome: bool) -> None:
    """Refine what is known of models wrapped on one branch only, if a test has this outcome."""
    if is_of_other_wrapper(frame, without_not(test, outcome)[0]):
        return
    _read_self_attributes(frame, test)
    _read_globals(frame, test)
    _note_tested(frame, test)
    if not (frame.engine.wraps_on_one_path and _has_maybe_wrapped(frame.memory)):
        return
    test, outcome = without_not(test, outcome)
    tested = wrapper_test(frame, test)
    subject = tested[0].value if tested is not None and isinstance(tested[0], cst.Name) else ""
    key = (frame.cls, self_attribute(tested[0])) if tested is not None and frame.cls is not None else None
    names, attributes = frame.memory.names, frame.memory.attributes
    model = names.get(subject, UNKNOWN) if key is None or not key[1] else attributes.get(key, UNKNOWN)
    _narrow_by_parts(frame, names, test, outcome)
    _narrow_by_parts(frame, attributes, test, outcome)
    if tested is not None and model.wrapping is Wrapping.MAYBE:
        narrowed = model.replace(wrapping=Wrapping.WRAPPED if tested[1] is outcome else Wrapping.BARE)
        if key is not None and key[1]:
            attributes[key] = narrowed
        else:
            names[subject] = narrowed


def _read_self_attributes(frame: Frame, test: cst.BaseExpression) -> None:
    """On each branch of the first test, read the attributes of `self` whose `.module` the method reads.

    They have the values from before the test; the test may say more about attributes that are read later.
    """
    if frame.cls is None or not frame.engine.wraps_on_one_path:
        return
    conditions = frame.evaluated_conditions
    conditions.first = conditions.first or test
    if conditions.first is not test:
        return
    frame.evaluated_conditions = EvaluatedConditions()
    for name in {self_attribute(each) for each in values_with_module(frame.root)} - {""}:
        frame.read_attribute(frame.cls, name)
    frame.evaluated_conditions = conditions


def _read_globals(frame: Frame, test: cst.BaseExpression) -> None:
    """On each branch of a test, read the models of the module and of other files whose wrapper the test decides about.

    from common import args, model
    if args.distributed:                                    the setting under which common.py wraps it
    """
    if not frame.engine.wraps_on_one_path:
        return
    names = frame.memory.names
    parts = [each for each in (*parts_of(test), *alternatives(test)) if isinstance(each, cst.BaseExpression)]
    for name in {each.value.value for each in of_class(frame.root, cst.Attribute) if isinstance(each.value, cst.Name)}:
        known = names[name] if name in names else frame.engine.global_name(frame.module, name, frame)
        model = UNKNOWN if known is None else frame.engine.settle(known)
        condition = _condition(model) if model is not names.get(name) else None
        if condition and any(_decisive_outcome(frame, without_not(part, True)[0], condition) for part in parts):
            names[name] = model


def _note_tested(frame: Frame, test: cst.BaseExpression) -> None:
    """Note that a test may say whether models that are read for the first time from here on are wrapped."""
    conditions = frame.evaluated_conditions
    if conditions.reads_anything or is_of_own_data(frame, test):
        return
    names = settings_tested(frame, test) if frame.engine.wraps_on_one_path else None
    if names is None or _may_ask_for_wrapper(frame, names):
        conditions.reads_anything = True
    else:
        conditions.settings |= names


def _may_ask_for_wrapper(frame: Frame, names: Collection[str]) -> bool:
    """Whether a test of these settings may be a test for a wrapper, whatever decides about the wrapper."""
    return (bool(names) and any(values_with_module(frame.root))) or any(map(MAY_ASK_FOR_WRAPPER.fits, names))


def _asks_for_wrapper(frame: Frame, test: cst.BaseExpression) -> bool:
    """Whether a test asks for several processes, as far as its names tell: `if self.data_parallel:`."""
    return not is_of_rank(frame, test) and any(map(MAY_ASK_FOR_WRAPPER.fits, names_tested(frame, test)))


def _has_maybe_wrapped(memory: Memory) -> bool:
    """Whether a model is wrapped on one branch only. Usually there is none, and then no test narrows anything."""
    for values in (memory.names, memory.attributes):
        for value in values.values():
            if is_undecided(value):
                return True
    return False


def _narrow_by_parts(frame: Frame, values: dict[_Key, Value], test: cst.BaseExpression, outcome: bool) -> None:
    """Refine what is known of models first by each part that must have this outcome, then by the whole test."""
    for part in parts_of(test) if outcome else alternatives(test):
        if isinstance(part, cst.BaseExpression):
            _decide(frame, values, *without_not(part, outcome))
    _narrow(frame, values, test, outcome)


def _decide(frame: Frame, values: dict[_Key, Value], test: cst.BaseExpression, outcome: bool) -> None:
    """Refine what is known of models, if one part of a test with this outcome is the condition of their wrapper."""
    for name, value in values.items():
        condition = _condition(value) if value.kind is Kind.MODEL else None
        decisive = None if condition is None else _decisive_outcome(frame, test, condition)
        if condition is not None and decisive is not None:
            values[name] = _with_outcome(value, condition, decisive) if decisive.is_true is outcome else _bare(value)
        elif condition is not None and _rules_out(frame, test, outcome, condition):
            values[name] = _bare(value)


def _rules_out(frame: Frame, test: cst.BaseExpression, outcome: bool, condition: WrappedWhere) -> bool:
    """Whether no wrapper is created where a test has this outcome, as a part of the condition needs the other one."""
    if condition.function is not frame.function:
        return False
    needed = (
        without_not(part, each.is_true)
        for each in condition.outcomes
        for part in (parts_of(each.node) if each.is_true else alternatives(each.node))
        if isinstance(part, cst.BaseExpression)
    )
    return any(is_true is not outcome and _is_same_test(frame, test, part) for part, is_true in needed)


def _narrow(frame: Frame, values: dict[_Key, Value], test: cst.BaseExpression, outcome: bool) -> None:
    tested: frozenset[str] | None = None
    present: str | None = None
    for name, value in values.items():
        if not is_undecided(value):
            continue
        if value.wrapping is Wrapping.UNWRAPPED and wrapper_test(frame, test) is not None:
            values[name] = once_tested(value)  # it asks about another name of the model
            continue
        last = name if isinstance(name, str) else name[1]
        condition = _condition(value)
        if condition is not None and _is_about_something_else(frame, test, name, condition):
            continue
        if condition is not None and condition.function is frame.function:
            tested = names_tested(frame, test) if tested is None else tested
            present = _tested_presence(test) if present is None else present
            # If the test may depend on the rank as well, it need not select the same ranks.
            of_rank = is_of_rank(frame, condition.node) and not is_uniform(frame, test)
            is_other = tested.isdisjoint(condition.names) and not tests_model(frame, test, name)
            if not of_rank and (last == present or is_other):
                continue
        values[name] = once_tested(value)


def _decisive_outcome(frame: Frame, test: cst.BaseExpression, condition: WrappedWhere) -> RequiredOutcome | None:
    """The outcome needed for the wrapper that a test asks about.

    In another function than the one that wraps the model, `config.distributed` and `self.config.distributed` are the
    setting of that name there; in a function of the same class, `self.distributed` is, too.
    """
    if condition.function is frame.function:
        return next((each for each in condition.outcomes if _is_same_test(frame, test, each.node)), None)
    if not isinstance(test, cst.Attribute):
        return None
    is_of_class = isinstance(condition.function, FunctionInfo) and condition.function.cls is frame.cls
    setting = _setting(test, is_of_class)
    return next((each for each in condition.outcomes if setting and _setting(each.node, is_of_class) == setting), None)


def _setting(test: cst.CSTNode, is_of_class: bool) -> str:
    """The name by which a setting is read, without `self.` before a dotted name: `config.ddp` for `self.config.ddp`."""
    name = get_full_name_for_node(test) or ""
    if not name.startswith("self."):
        return name if "." in name else ""
    rest = name.removeprefix("self.")
    return rest if "." in rest else name if is_of_class else ""


def _is_about_something_else(frame: Frame, test: cst.BaseExpression, key: _Key, condition: WrappedWhere) -> bool:
    """Whether a test in another function than the one that wraps the model is unrelated to the wrapper's condition.

    It tests the rank, which differs within a run while the wrapper does not, or settings with other names than those of
    the condition, none of which describe how the program is run. A condition without names is one on the rank.
    """
    if condition.function is frame.function or not condition.names or tests_model(frame, test, key):
        return False
    names = settings_tested(frame, test)
    return names is not None and names.isdisjoint(condition.names) and not _may_ask_for_wrapper(frame, names)


def without_not(test: cst.BaseExpression, outcome: bool) -> tuple[cst.BaseExpression, bool]:
    """A test without its `not`s, and the outcome that it then has."""
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, outcome = test.expression, not outcome
    return test, outcome


def _is_same_test(frame: Frame, test: cst.BaseExpression, other: cst.CSTNode) -> bool:
    """Whether two tests are equal, or one tests a name or an attribute that was assigned the other."""
    return test.deep_equals(other) or any(
        bound is not None and bound.deep_equals(condition)
        for bound, condition in ((_assigned_once(frame, test), other), (_assigned_once(frame, other), test))
    )


def _assigned_once(frame: Frame, node: cst.CSTNode) -> cst.BaseExpression | None:
    """The only value that the code of a frame binds a name or an attribute to."""
    values: list[cst.BaseExpression] = []
    if isinstance(node, cst.Name):
        values = [value for target, value in assigned(frame) if target == node.value]
    elif isinstance(node, cst.Attribute):
        values = [value for target, value in assigned_attributes(frame) if target.deep_equals(node)]
    return values[0] if len(values) == 1 else None


def _bare(value: Value) -> Value:
    """A model on the way on which no wrapper is created."""
    return value.replace(wrapping=Wrapping.BARE) if value.wrapping is Wrapping.MAYBE else once_tested(value)


def _with_outcome(value: Value, condition: WrappedWhere, outcome: RequiredOutcome) -> Value:
    """A model wrapped on one branch, once one of the outcomes needed for its wrapper holds."""
    needed = tuple(each for each in condition.outcomes if each is not outcome)
    if not needed and value.wrapping is Wrapping.UNWRAPPED:
        return value.replace(provenance=condition.before)
    if not needed:
        return value.replace(wrapping=Wrapping.WRAPPED)
    provenance = WrappedWhere(
        condition.module,
        condition.node,
        condition.text,
        condition.before,
        names=frozenset().union(*(each.names for each in needed)),
        function=condition.function,
        outcomes=needed,
    )
    return value.replace(provenance=provenance)


class TestedAttributes:
    """What tests inside an expression say of models that are attributes; it holds only inside the expression."""

    def __init__(self, frame: Frame, test: cst.BaseExpression) -> None:
        _read_self_attributes(frame, test)
        self._frame = frame
        self._before: dict[tuple[Hashable, str], Value] = {}
        if frame.engine.wraps_on_one_path:
            self._before = {name: value for name, value in frame.memory.attributes.items() if is_undecided(value)}
        self._narrowed: dict[tuple[Hashable, str], Value] = {}

    def note(self, shown: Mapping[tuple[Hashable, str], Value]) -> None:
        """Remember what the current test says of the attributes; shown: what its other branch says of some."""
        attributes = self._frame.memory.attributes
        self._before |= {name: attributes[name] for name in shown if name in attributes}
        attributes |= shown
        self._narrowed = {name: attributes[name] for name in self._before if name in attributes}

    def forget(self) -> None:
        """Restore what was known before the test, except for attributes assigned since."""
        attributes = self._frame.memory.attributes
        for name, value in self._narrowed.items():
            if attributes.get(name) is value:
                attributes[name] = self._before[name]


def _tested_presence(test: cst.BaseExpression) -> str:
    """The name whose presence a test asks for, and nothing else: `if model`, `if self.model is not None`."""
    match none_test_operand(test) or test:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
    return ""


def tests_presence(test: cst.BaseExpression) -> bool:
    return bool(_tested_presence(test))


def changed(before: Memory, memory: Memory) -> dict[str, Value]:
    """The names of models wrapped on one branch of which a test says more, with the narrowed values.

    A model that is None on a branch is not included: it is not wrapped at the end of it.
    """
    models = {name: memory.names.get(name, value) for name, value in before.names.items() if is_undecided(value)}
    return {
        name: value for name, value in models.items() if value is not before.names[name] and value.kind is not Kind.NONE
    }
