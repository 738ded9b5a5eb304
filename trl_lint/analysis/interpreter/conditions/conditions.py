"""Conditions: which of them are decided, how they narrow names, and how they divide the ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from trl_lint.analysis.interpreter.conditions import (
    chosen_texts,
    emptiness_tests,
    launcher_texts,
    memberships,
    named_fields,
    narrowed_calls,
    none_tests,
    number_tests,
    process_grids,
    shared_unless_none,
    wrapper_questions,
    wrapping_tests,
)
from trl_lint.analysis.interpreter.conditions.selected_rows import has_selected_some
from trl_lint.analysis.interpreter.conditions.tpu_tests import for_bare_runs
from trl_lint.analysis.interpreter.objects.present_on_some import used
from trl_lint.analysis.program.definitions.parameter_uses import is_none_by_default
from trl_lint.analysis.program.idioms.passed_on import deciding_names
from trl_lint.analysis.program.syntax import identifiers
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import Branch
from trl_lint.analysis.state.written_lengths import is_left_out
from trl_lint.analysis.transfer.models.wrapped_models import under_engine
from trl_lint.analysis.transfer.tensors.operands import size_of
from trl_lint.domain import ranks, shapes
from trl_lint.domain.constants import (
    CREATED,
    LEFT_OUT,
    MISSING,
    ONE_PROCESS_FALSE,
    ONE_PROCESS_TRUE,
    OPEN,
    WORLD_FALSE,
    WORLD_KIND,
    WORLD_TRUE,
    GivenNumber,
    OnOneProcess,
    World,
)
from trl_lint.domain.control import UNIFORM, Control, Uniformity
from trl_lint.domain.derived import derived, truth_on_some
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.kinds import BatchRole, LibraryName, NoneValue, flag, library_name_of, role_of
from trl_lint.domain.numbers import single_process_value, with_single_process_value
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.small_tuples import items_or_itself
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import heuristics
from trl_lint.knowledge.heuristics import MAY_ASK_FOR_RANK


def truth(frame: Frame, value: Value) -> bool | None:
    """The truth of a value if it is the same on every rank of a run with several ranks; None if it is not known."""
    const = value.const
    if const is MISSING:
        is_filled = value.kind is Kind.CONTAINER and containers.has_one_per_rank(frame.memory.cells(value))
        return True if is_filled or none_tests.is_defined(value) else None
    if const is CREATED:
        return True
    if const is LEFT_OUT:
        return False if is_left_out(frame, value) else None
    if isinstance(const, World):
        return const is not WORLD_FALSE
    if const is None or isinstance(const, bool):
        return bool(const)
    return bool(const.value) if isinstance(const, GivenNumber) else None


def on_single_process(value: Value, negated: bool = False) -> OnOneProcess | None:
    """The answer of a test of the rank in a run with one process; None if the value is no such test."""
    known = single_process_value(value)
    if not value.rank.differs or known is None:
        return None
    return ONE_PROCESS_TRUE if bool(known.value) is not negated else ONE_PROCESS_FALSE


def as_condition(frame: Frame, value: Value) -> Value:
    """A value used as a condition: if it is None, False or empty on some ranks only, it differs between ranks."""
    if value.rank.origins == Origin.DATA and role_of(value) is BatchRole.WHOLE:
        value = value.replace(rank=ranks.UNKNOWN)  # a test of a whole batch only asks whether there is one
    if value.rank.differs and none_tests.is_filled(value):
        return flag()
    value = none_tests.questioned(value)
    on_some = truth_on_some(value) or containers.truth_on_some(frame, value)
    return on_some or emptiness_tests.truth_by_place(frame, value) or value


def control_of_condition(frame: Frame, test: cst.CSTNode, value: Value) -> Control:
    """The control under which code runs that depends on a condition with this value.

    A value of unknown kind was neither computed nor compared, so it is not taken to diverge: `batch.get("flag")`.
    """
    value = as_condition(frame, value)
    of_data = value.rank.differs and value.rank.origins == Origin.DATA
    if of_data and (value.kind is Kind.UNKNOWN or _has_rows_everywhere(frame, test)):
        return _unknown_control(frame, test)
    if value.rank.differs:
        provenance = frame.step(test, "`{}` differs between ranks", value.provenance)
        return Control(Uniformity.DIVERGENT, provenance, value.rank)
    if value.rank.state is State.UNKNOWN:
        if value.rank == ranks.GUARDED:
            return Control(
                Uniformity.DIVERGENT,
                frame.step(test, "`{}` depends on the rank, among other things", value.provenance),
                ranks.GUARDED,
            )
        return _unknown_control(frame, test, ranks.SETTING if value.rank == ranks.SETTING else ranks.UNKNOWN)
    is_known = value.const not in OPEN or value.rank == ranks.REDUCED
    if not is_known and any(map(MAY_ASK_FOR_RANK.fits, deciding_names(test))):
        return _unknown_control(frame, test)
    return UNIFORM


def _has_rows_everywhere(frame: Frame, test: cst.CSTNode) -> bool:
    return emptiness_tests.is_uniform_test(frame, test) or has_selected_some(frame, test)


def _unknown_control(frame: Frame, test: cst.CSTNode, rank: ranks.Rank = ranks.UNKNOWN) -> Control:
    provenance = frame.step(test, "whether `{}` is the same on all ranks is not known")
    return Control(Uniformity.UNKNOWN, provenance, rank)


# The result of comparing a rank with a number, on every rank of a distributed run.
_RANKS: dict[tuple[type, int], World] = {
    (cst.Equal, -1): WORLD_FALSE,
    (cst.NotEqual, -1): WORLD_TRUE,
    (cst.GreaterThan, -1): WORLD_TRUE,
    (cst.GreaterThanEqual, 0): WORLD_TRUE,
    (cst.LessThan, 0): WORLD_FALSE,
}


def other_ranks(frame: Frame, test: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether `elif rank > 0` takes all ranks that `if rank == 0` does not: then it is an `else`."""
    return (
        _compares_with_zero(test, cst.Equal)
        and _compares_with_zero(other, cst.GreaterThan, cst.NotEqual)
        and isinstance(test, cst.Comparison)
        and isinstance(other, cst.Comparison)
        and test.left.deep_equals(other.left)
        and frame.node_values[id(test)].rank.origins == Origin.RANK
    )


def _compares_with_zero(test: cst.CSTNode, *operators: type) -> bool:
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    target = test.comparisons[0]
    return isinstance(target.operator, operators) and getattr(target.comparator, "value", "") == "0"


def compare(
    frame: Frame, left: Value, node: cst.Comparison, evaluate: Callable[[Frame, cst.BaseExpression], Value]
) -> Value:
    """The value of a comparison, possibly chained."""
    known = wrapper_questions.decided(frame, node) or process_grids.decided(frame, node, left)
    if known is not None:
        return known
    result: Value | None = None
    for target in node.comparisons:
        right = evaluate(frame, target.comparator)
        if type(target.operator) in number_tests.MIRROR:
            left, right = used(frame, node.left, left), used(frame, target.comparator, right)
        elif isinstance(target.operator, (cst.In, cst.NotIn)):
            right = used(frame, target.comparator, right)  # None has no elements
        if result is None:
            left = named_fields.by_name(frame, node.left, left, right)
        part = _compare_once(frame, left, target.operator, right)
        if right.const is None and left.kind is Kind.CONTAINER and is_none_by_default(frame.function, node.left):
            part = part.replace(const=isinstance(target.operator, (cst.IsNot, cst.NotEqual)))
        result = part if result is None else _both_hold(result, part)
        left = right
    assert result is not None
    bare = for_bare_runs(frame, node)
    return result if bare is None else result.replace(const=bare)


def _both_hold(a: Value, b: Value) -> Value:
    return derived(ranks.combine(a.rank, b.rank), Kind.NUMBER if a.kind is Kind.NUMBER else b.kind, a, b, dtype="bool")


def _compare_once(frame: Frame, left: Value, operator: cst.CSTNode, right: Value) -> Value:
    if WORLD_KIND in (left.const, right.const):
        return _kind_of_run(left, operator, right)
    if (chosen := chosen_texts.compared(frame, left, operator, right)) is not None:
        return chosen
    kind_of_test = type(operator)
    if (known := launcher_texts.compared_with_number(frame, left, kind_of_test, right)) is not None:
        return known
    if isinstance(left.const, bool) and isinstance(right.const, bool) and kind_of_test in _EQUALITY:
        return flag(_same_constant(left, right, kind_of_test))  # `plot is True`, `plot == True`
    if kind_of_test is cst.Is or kind_of_test is cst.IsNot or _is_missing_module(left, right):
        return _identity(left, operator, right)
    if kind_of_test is cst.In or kind_of_test is cst.NotIn:
        return memberships.membership(frame, left, operator, right)
    are_equal = kind_of_test in (cst.Equal, cst.NotEqual)
    const = number_tests.decided(left.const, kind_of_test, right.const)
    if const is MISSING and are_equal:
        const = _same_text(left, right, kind_of_test)
    if left.rank == ranks.RANK_LOCAL and left.kind is Kind.NUMBER and right.const in (-1, 0):
        # A rank of -1 means a run with a single process.
        const = _RANKS.get((type(operator), right.const), const)
    rank = ranks.compare(left.rank, right.rank)
    if const is not MISSING:
        return flag(const)
    if Kind.STRING in (left.kind, right.kind) and left.rank.state is State.UNKNOWN:
        rank = rank if rank == ranks.SETTING else ranks.UNKNOWN
    if rank.differs and (all(map(_is_usually_same, (left, right))) or (are_equal and _are_of_one_time(left, right))):
        rank = ranks.UNKNOWN
    kinds = {left.kind, right.kind}
    tensor = kinds & {Kind.TENSOR, Kind.BATCH}
    # Two unknown values may also be tensors.
    kind = Kind.TENSOR if tensor else Kind.NUMBER if kinds != {Kind.UNKNOWN} else Kind.UNKNOWN
    scalar = not tensor or (left.scalar and right.scalar)
    value = derived(rank, kind, left, right, scalar=scalar, dtype="bool")
    if rank.differs:
        value = with_single_process_value(value, _compared_on_one_process(left, type(operator), right))
    for refine in frame.domains.comparison:
        value = refine(frame, left, right, value)
    return value


def _is_usually_same(value: Value) -> bool:
    """Whether a number is normally the same on all ranks: uniform, or the number of rows in a rank's batch."""
    return not value.rank.as_condition.differs or (value.rank.how == "count" and size_of(value) is shapes.SAME)


def _are_of_one_time(left: Value, right: Value) -> bool:
    """Whether both values depend on the clock only, like names of folders: on one rank they hold the same time."""
    return all(each.rank.origins & ~Origin.IO == Origin.CLOCK for each in (left, right))


def _compared_on_one_process(left: Value, operator: type, right: Value) -> OnOneProcess | None:
    """The result of comparing the rank with a number in a run with one process; None if it is open."""
    if single_process_value(right) is not None and single_process_value(left) is None:
        left, right, operator = right, left, number_tests.MIRROR.get(operator, operator)
    known = single_process_value(left)
    if known is None or type(right.const) not in (bool, int):
        return None
    if operator in (cst.Is, cst.IsNot):
        return ONE_PROCESS_TRUE if (known.value is right.const) is (operator is cst.Is) else ONE_PROCESS_FALSE
    if operator not in number_tests.ORDER:
        return None
    return ONE_PROCESS_TRUE if number_tests.ORDER[operator](known.value, right.const) else ONE_PROCESS_FALSE


def _same_text(left: Value, right: Value, operator: type) -> Any:
    """The constant result of comparing two strings: the `mode` argument of a call decides what the function does.

    Also of comparing `None` with a number or a string (`rank == 0` if a function is called without a rank), and a list
    with a string: `training_args.report_to == "wandb"`.
    """
    texts = (left.const, right.const)
    if Kind.NONE in (left.kind, right.kind) and any(type(const) in (int, str) for const in texts):
        return operator is cst.NotEqual
    if Kind.ITERABLE in (left.kind, right.kind) and any(isinstance(const, str) for const in texts):
        return operator is cst.NotEqual
    if not all(isinstance(text, str) and WILDCARD not in text for text in texts):
        return MISSING  # part of such a string is unknown
    return _same_constant(left, right, operator)


_EQUALITY = (cst.Equal, cst.Is, cst.IsNot, cst.NotEqual)


def _same_constant(left: Value, right: Value, operator: type) -> bool:
    return (left.const == right.const) is (operator in (cst.Equal, cst.Is))


def _kind_of_run(left: Value, operator: cst.CSTNode, right: Value) -> Value:
    """`accelerator.distributed_type != DistributedType.NO`: with several ranks it is not NO."""
    other = right if left.const is WORLD_KIND else left
    options = items_or_itself(other) if isinstance(operator, (cst.In, cst.NotIn)) else (other,)
    if all(library_name_of(each).endswith("DistributedType.NO") for each in options):
        if isinstance(operator, (cst.NotEqual, cst.IsNot, cst.NotIn)):
            return flag(WORLD_TRUE)
        if isinstance(operator, (cst.Equal, cst.Is, cst.In)):
            return flag(WORLD_FALSE)
    return flag()


def _is_missing_module(left: Value, right: Value) -> bool:
    """Whether a comparison asks if a library, or a part of it, is there: `group == None`."""
    return isinstance(left, LibraryName) and right.const is None


def _identity(left: Value, operator: cst.CSTNode, right: Value) -> Value:
    if right.kind is Kind.NONE and right.const is None:
        return none_tests.answer(left, isinstance(operator, (cst.IsNot, cst.NotEqual)))
    rank = ranks.nonlinear(ranks.combine(left.rank, right.rank))
    value = derived(rank, Kind.NUMBER, left, right, scalar=True, dtype="bool")
    return with_single_process_value(value, _compared_on_one_process(left, type(operator), right))


def choose(frame: Frame, test: cst.BaseExpression, value: Value, marks: tuple[int, int]) -> None:
    """Report the part of an expression that runs only if `test` holds, and the part that runs only if it does not.

    marks: the numbers of synchronisation points where the two parts begin.
    """
    end = len(frame.sync_points)
    if value.rank.differs and end > marks[0]:
        provenance = frame.step(test, "`{}` differs between ranks", value.provenance)
        for observe in frame.observers.branch:
            observe(frame, Branch(test, provenance, (*marks, end), origins=value.rank.origins))


# --- narrowing ------------------------------------------------------------------------------------------


def engine_outcome(frame: Frame, test: cst.CSTNode) -> bool | None:
    """The outcome of a test under which DeepSpeed or FSDP wraps the model; None if it does not ask for an engine."""
    known = frame.engine.engine_outcomes
    if id(test) not in known:
        known[id(test)] = _engine_outcome(test)
    outcome = known[id(test)]
    frame.asks_for_engine |= outcome is not None
    return outcome


def _engine_outcome(test: cst.CSTNode) -> bool | None:
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = _engine_outcome(test.expression)
        return None if inner is None else not inner
    if not any(map(heuristics.NAMES_ENGINE.fits, identifiers(test))):
        return None
    return not (isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, (cst.NotEqual, cst.Is)))


def narrow(frame: Frame, test: cst.BaseExpression, outcome: bool) -> None:
    """Refine what is known of names under the assumption that `test` has this outcome."""
    if engine_outcome(frame, test) is outcome:
        _under_engine(frame)
    wrapping_tests.narrow(frame, test, outcome)
    _narrow(frame, test, outcome)


def narrow_further(frame: Frame, part: cst.BaseExpression, outcome: bool, earlier: bool | None) -> bool:
    """Refine it under the assumption that one more part of a chain of `and` or `or` has this outcome.

    earlier: whether an earlier part asks for an engine; None for the first part. Returns whether any part so far asks
    for one.
    """
    engine = engine_outcome(frame, part)
    mentioned = bool(earlier) or engine is not None
    if engine is outcome if earlier is None else mentioned and outcome:
        _under_engine(frame)
    wrapping_tests.narrow(frame, part, outcome)
    _narrow(frame, part, outcome)
    return mentioned


def _under_engine(frame: Frame) -> None:
    for name, value in frame.memory.names.items():
        frame.memory.names[name] = under_engine(name, value)


def _narrow(frame: Frame, test: cst.CSTNode, outcome: bool) -> None:
    if type(test) is cst.Comparison:
        _narrow_none(frame, test, outcome)
    elif type(test) is cst.Call:
        narrowed_calls.narrow(frame, test, outcome)
    elif type(test) is cst.BooleanOperation:
        if isinstance(test.operator, cst.And) is outcome:
            _narrow(frame, test.left, outcome)
            _narrow(frame, test.right, outcome)
        elif outcome:
            narrowed_calls.narrow_to_one_of(frame, test)
    elif type(test) is cst.UnaryOperation and isinstance(test.operator, cst.Not):
        _narrow(frame, test.expression, not outcome)


def _narrow_none(frame: Frame, test: cst.Comparison, outcome: bool) -> None:
    if len(test.comparisons) != 1 or type(test.left) is not cst.Name:
        return
    operator, right = type(test.comparisons[0].operator), test.comparisons[0].comparator
    if not (type(right) is cst.Name and right.value == "None" and (operator is cst.Is or operator is cst.IsNot)):
        return
    value = frame.memory.names.get(test.left.value)
    if value is None:
        return
    is_none = (operator is cst.Is) is outcome
    known = NoneValue(ranks.SAME, const=None) if is_none else shared_unless_none.where_there(frame, value)
    frame.memory.names[test.left.value] = known
