"""Expressions: the value of each of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import libcst as cst

from trl_lint.analysis.interpreter import displays
from trl_lint.analysis.interpreter.calls import calls
from trl_lint.analysis.interpreter.conditions import (
    chosen_texts,
    defaults,
    engine_plugins,
    flags_of_tests,
    launcher_texts,
    named_fields,
    none_tests,
    own_tests,
    reduced_branches,
    started_or_none,
    unwrapped_beside,
    version_tests,
    wrapped_beside,
    wrapping_tests,
)
from trl_lint.analysis.interpreter.conditions.conditions import (
    as_condition,
    choose,
    control_of_condition,
    engine_outcome,
    narrow,
    narrow_further,
    on_single_process,
    truth,
)
from trl_lint.analysis.interpreter.conditions.one_rank_tests import selects_one_rank
from trl_lint.analysis.interpreter.objects import assignment, attributes, present_on_some, registries, subscripts
from trl_lint.analysis.interpreter.objects.subscripts import subscript_value
from trl_lint.analysis.interpreter.operations import operators, pure_calls
from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.state import containers, own_texts, settings
from trl_lint.analysis.state.changed_settings import is_switched_by_rank
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models import gradients
from trl_lint.analysis.transfer.processes import absences, before_group, first_rank, given_numbers, job_flags
from trl_lint.analysis.transfer.processes.wide_conditions import depends_on_progress
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, PRESENT, World
from trl_lint.domain.derived import derived
from trl_lint.domain.heap import WILDCARD, note_held
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import BLANKS, NONE, LibraryName, NumberValue, StringValue
from trl_lint.domain.numbers import with_single_process_value
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value
from trl_lint.knowledge.heuristics import JOB_SETTING


def evaluate(frame: Frame, node: cst.CSTNode) -> Value:
    """The value of an expression at the current program point."""
    handler = HANDLERS.get(type(node))
    if handler is None:
        return UNKNOWN
    value = frame.node_values[id(node)] = handler(frame, node)
    return value


# --- names and literals ---------------------------------------------------------------------------------


def lookup(frame: Frame, name: str) -> Value | None:
    """The value of a name here: local, of an enclosing function, global or builtin.

    A name imported from another file of the project is resolved only when it is used.
    """
    scope: Frame | None = frame
    while scope is not None:
        value = scope.memory.names.get(name)
        if value is not None:
            if scope is not frame:
                _bring_cells(frame, scope, value)
                return frame.from_other_scope(value)
            return value
        scope = scope.outer
    return frame.engine.global_name(frame.module, name, frame)


def _bring_cells(frame: Frame, scope: Frame, value: Value) -> None:
    if scope.memory is not frame.memory and value.kind in (Kind.CONTAINER, Kind.TUPLE):
        frame.memory.load(value, scope.memory.heap)


def _name(frame: Frame, node: cst.Name) -> Value:
    value = lookup(frame, node.value)
    if value is None:
        return attributes.of_options(frame, node)
    if value.absence is not None:
        value = present_on_some.of_name(frame, node, value)
    # A constant that says how the job is run is compared directly, so it has to be resolved now.
    if value.kind is Kind.MODULE and (node.value.isupper() or JOB_SETTING.fits(node.value)):
        found = frame.engine.settle(value)
        return found if isinstance(found.const, World) or JOB_SETTING.fits(node.value) else value
    value = given_numbers.with_given_number(frame, node, value)
    return job_flags.with_job_flags(frame, node, value) if frame.engine.job_flags.names else value


def _integer(frame: Frame, node: cst.Integer) -> Value:
    return _number(node.value, "int")


def _float(frame: Frame, node: cst.Float) -> Value:
    return _number(node.value, "float")


@lru_cache(maxsize=256)
def _number(text: str, dtype: str) -> Value:
    """The value of a number; the same object for each text, so that joining it with itself costs nothing."""
    const = int(text, 0) if dtype == "int" else float(text)
    return NumberValue(ranks.SAME if const else ranks.ZERO, const=const, scalar=True, dtype=dtype)


def _string(frame: Frame, node: cst.SimpleString) -> Value:
    return _written_out(node.value)


@lru_cache(maxsize=4096)
def _written_out(literal: str) -> Value:
    return _text(cst.SimpleString(literal).raw_value)


@lru_cache(maxsize=4096)
def _text(content: str) -> Value:
    return StringValue(ranks.SAME, const=content)


def _concatenated(frame: Frame, node: cst.CSTNode) -> Value:
    """Adjacent string literals, as in long prompts: each is nested in the one before."""
    texts: list[Value] = []
    while isinstance(node, cst.ConcatenatedString):
        texts.append(evaluate(frame, node.left))
        node = node.right
    return operators.add_texts(frame, [*texts, evaluate(frame, node)])


def _formatted(frame: Frame, node: cst.FormattedString) -> Value:
    """The value of an f-string. Unknown parts are wildcards, so that it can still be used as a key."""
    parts: list[str] = []
    values: list[Value] = []
    for part in node.parts:
        if type(part) is cst.FormattedStringText:
            parts.append(part.value)
        elif type(part) is cst.FormattedStringExpression:
            value = settings.count_by_name(part.expression, evaluate(frame, part.expression))
            values.append(operators.formatted(frame, part, pure_calls.text_of(value)))
            known = isinstance(value.const, (str, int)) and part.conversion is None and part.format_spec is None
            parts.append(str(value.const) if known else WILDCARD)
    rank = ranks.combine_all(value.rank for value in values)
    const = operators.known_text("".join(parts))
    text = derived(ranks.nonlinear(rank), Kind.STRING, *values, const=const, device="")
    return operators.made_of(frame, values, text)


# --- attributes and subscripts --------------------------------------------------------------------------


def _attribute(frame: Frame, node: cst.Attribute) -> Value:
    receiver = present_on_some.used(frame, node.value, evaluate(frame, node.value))
    attributes.observe_library(frame, receiver, node)
    value = attributes.read(frame, receiver, node.attr.value, node)
    if value.rank is ranks.UNKNOWN:
        value = settings.known_by_name(frame, node, receiver, value)
    elif value is SAME and (settings.may_be_set_by_rank(frame, node) or is_switched_by_rank(frame, node)):
        value = UNKNOWN
    elif isinstance(value, LibraryName):
        value = attributes.of_unknown_library(frame, value)
    value = own_texts.unless_own(frame, node.attr.value, value)
    value = given_numbers.with_given_number(frame, node, named_fields.with_flag_of_one(node, value))
    flags = frame.engine.job_flags
    return job_flags.with_job_flags(frame, node, value) if flags.attributes or flags.counts or flags.alone else value


# Kinds of an item of settings, and of the result of a pure function of settings.
_MADE_OF_SETTINGS = frozenset({Kind.BATCH, Kind.TENSOR, Kind.UNKNOWN})


def _subscript(frame: Frame, node: cst.Subscript) -> Value:
    container, index = evaluate(frame, node.value), subscript_value(frame, node)
    container = present_on_some.used(frame, node.value, container)
    is_part = container.const is PRESENT and subscripts.is_slice(node)
    value = subscripts.item_of(frame, container, index, node)
    if value.kind is Kind.UNKNOWN:
        value = registries.entry(frame, node.value, index, value)
    if container.rank == ranks.SETTING and value.kind in _MADE_OF_SETTINGS:
        value = settings.item_of(frame, index, value)
    elif settings.is_unknown(value) and settings.is_uniform_item(frame, node.value, container, index):
        value = settings.SETTING
    value = own_texts.unless_own(frame, index.const, value)
    for refine in frame.domains.subscript:
        value = refine(frame, container, node, value)
    value = present_on_some.of_entry(frame, node, container, index, value)
    return none_tests.present(value) if is_part else value


# --- operators ------------------------------------------------------------------------------------------


def _binary(frame: Frame, node: cst.BinaryOperation) -> Value:
    left, right = (present_on_some.used(frame, each, evaluate(frame, each)) for each in (node.left, node.right))
    result = operators.operate(frame, node.operator, left, right, node)
    return none_tests.present(result) if PRESENT in (left.const, right.const) else result


def _unary(frame: Frame, node: cst.UnaryOperation) -> Value:
    value = evaluate(frame, node.expression)
    if not isinstance(node.operator, cst.Not):
        value = present_on_some.used(frame, node.expression, value)
    else:
        value = own_tests.as_test(frame, node.expression, value)
        known = truth(frame, value)
        value = as_condition(frame, value)
        rank = ranks.nonlinear(value.rank)
        result = derived(rank, Kind.NUMBER, value, scalar=True, dtype="bool")
        result = with_single_process_value(result, on_single_process(value, negated=True))
        return result if known is None else result.replace(const=operators.negated(value.const, known))
    if isinstance(node.operator, cst.Minus):
        const = -value.const if type(value.const) in (int, float) else MISSING
        linear = value.rank.state is not State.PARTIAL or value.rank.how in ranks.ADDITIVE
        rank = value.rank if linear else ranks.nonlinear(value.rank)
        return value.replace(rank=rank, const=const)
    return value.replace(rank=ranks.nonlinear(value.rank), const=MISSING)


def _boolean(frame: Frame, node: cst.BooleanOperation) -> Value:
    """`and`, `or`: the right side is evaluated only if the left one allows it. A chain is walked in one go."""
    is_and = isinstance(node.operator, cst.And)
    chain = _links(node, is_and)
    value = own_tests.as_test(frame, chain[0].left, evaluate(frame, chain[0].left))
    saved = frame.memory.names
    narrowed = saved.copy()
    earlier: bool | None = None
    tested = wrapping_tests.TestedAttributes(frame, chain[0].left)
    for index, link in enumerate(chain):
        known = truth(frame, value)
        if known is None or known is is_and:
            frame.memory.names = narrowed
            part = link.left if earlier is None else chain[index - 1].right
            earlier = narrow_further(frame, part, is_and, earlier)
            tested.note({})
            frame.memory.names = narrowed.copy()
            value = absences.of_link(frame, link, value, _linked(frame, link, value, known))
        frame.node_values[id(link)] = value
    frame.memory.names = saved
    tested.forget()
    return before_group.as_asked(frame, node, value)


def _links(node: cst.BooleanOperation, is_and: bool) -> list[cst.BooleanOperation]:
    """The operations of a chain of `and` (or of `or`), the innermost first."""
    found: list[cst.BooleanOperation] = []
    inner: cst.BaseExpression = node
    while isinstance(inner, cst.BooleanOperation) and isinstance(inner.operator, cst.And) is is_and:
        found.append(inner)
        inner = inner.left
    found.reverse()
    return found


def _linked(frame: Frame, link: cst.BooleanOperation, left: Value, known: bool | None) -> Value:
    """The value of an operation that its left side does not decide."""
    start, control = len(frame.sync_points), frame.memory.control
    frame.memory.control = control.under(control_of_condition(frame, link.left, left))
    right = own_tests.as_test(frame, link.right, evaluate(frame, link.right))
    frame.memory.control = control
    # The right side is evaluated if the left one is true (`and`), or if it is not (`or`).
    choose(frame, link.left, left, (start, len(frame.sync_points) if isinstance(link.operator, cst.And) else start))
    is_and = isinstance(link.operator, cst.And)
    if known is not None:
        return _with_several_ranks(left, right, is_and)
    if not is_and and (made := defaults.made_instead(left, right)) is not None:
        return made
    right_known = truth(frame, right)
    if right_known is not None and right_known is not is_and and (is_and or isinstance(right.const, World)):
        return right  # `x and False` is false whatever x is; `x or True` may be x
    if left.dtype == "bool" and (_is_always(link.right, not is_and) or right_known is (not is_and)):
        return right.replace(const=not is_and)  # `is_main_process or 1`: a test that is switched off
    value = join(left, right, left.rank).replace(const=MISSING)
    if value.rank.state is State.UNKNOWN and Origin.RANK in (left.rank.origins, right.rank.origins):
        rank_test, part = (left, link.left) if left.rank.origins == Origin.RANK else (right, link.right)
        # Whatever the other side is, one rank (or all but one) gets false; the same for an engine that is not used.
        if (is_and and selects_one_rank(frame, part, rank_test)) or _is_combined_with_engine(frame, link, left, right):
            return derived(rank_test.rank, Kind.NUMBER, rank_test, dtype="bool")
        return value.replace(rank=ranks.GUARDED)
    for setting, test, part in ((left, right, link.left), (right, left, link.right)):
        if test.rank.differs and test.dtype == "bool" and _is_alike(frame, setting, part):
            return derived(test.rank, Kind.NUMBER, test, dtype="bool")
    if is_and and left.rank.differs and right.rank.origins == Origin.RANK:
        value = value.replace(provenance=right.provenance)  # the ranks that it leaves out tell most
    kinds = {side.kind for side in (left, right) if side.rank.differs}
    is_mixed = value.kind is Kind.UNKNOWN or value.kind not in (left.kind, right.kind)
    return value.as_a(BLANKS[kinds.pop()]) if is_mixed and kinds in _TESTS else value


def _is_alike(frame: Frame, value: Value, node: cst.BaseExpression) -> bool:
    """Whether a part of a condition is a setting, or asks how far all ranks are: `step % 10 == 0`."""
    is_open = value.rank == ranks.UNKNOWN and isinstance(node, cst.Comparison)
    return value.rank == ranks.SETTING or (
        is_open and depends_on_progress(frame, control_of_condition(frame, node, value))
    )


def _is_always(node: cst.BaseExpression, answer: bool) -> bool:
    """Whether an expression is a literal with this truth value."""
    if isinstance(node, cst.Integer):
        return bool(node.evaluated_value) is answer
    return isinstance(node, cst.Name) and node.value == str(answer)


def _is_combined_with_engine(frame: Frame, link: cst.BooleanOperation, left: Value, right: Value) -> bool:
    """Whether one side depends on the rank, and the other asks for the engine, which is the same on all ranks."""
    sides = ((left, right, link.right), (right, left, link.left))
    return any(
        rank_test.rank == ranks.RANK_LOCAL and not other.rank.origins and engine_outcome(frame, part) is not None
        for rank_test, other, part in sides
    )


def _with_several_ranks(left: Value, right: Value, is_and: bool) -> Value:
    """The right side, which decides in a run with several ranks; with one process the left side may decide."""
    answer = on_single_process(right)
    if answer is None or not isinstance(left.const, World) or answer.value is not is_and:
        return right
    return with_single_process_value(right, None)


# A test of rank-local data keeps its kind when combined with a setting: `step % args.every == 0 and (mask == 0).all()`.
_TESTS = ({Kind.NUMBER}, {Kind.TENSOR})


def _comparison(frame: Frame, node: cst.Comparison) -> Value:
    from trl_lint.analysis.interpreter.conditions.conditions import compare

    left = evaluate(frame, node.left)
    known = own_tests.compared(frame, node, left) or version_tests.compared(frame, node)
    known = known or launcher_texts.decided(node, left)
    return known or compare(frame, left, node, evaluate)


def _conditional(frame: Frame, node: cst.IfExp) -> Value:
    engine_plugins.exclude_plugin_test(frame, node)
    test = own_tests.as_test(frame, node.test, evaluate(frame, node.test))
    known = truth(frame, test)
    saved, before = frame.memory.names, frame.memory.heap.copy() if test.rank.is_by_rank else None
    results, ends = list[Value](), list[dict[str, Value]]()
    start = middle = len(frame.sync_points)
    control, tested = frame.memory.control, wrapping_tests.TestedAttributes(frame, node.test)
    for branch, outcome in ((node.body, True), (node.orelse, False)):
        if known is not None and known is not outcome:
            continue
        middle = len(frame.sync_points)
        frame.memory.names = saved.copy()
        if known is None:
            frame.memory.control = control.under(control_of_condition(frame, node.test, test))
        narrow(frame, node.test, outcome)
        frame.memory.names.update(unwrapped_beside.shown_by_other_branch(frame, node, outcome))
        tested.note(unwrapped_beside.of_self_shown_by_other_branch(frame, node, outcome))
        results.append(evaluate(frame, branch))
        ends.append(frame.memory.names)
        tested.forget()
    frame.memory.control = control
    if known is None:
        choose(frame, node.test, test, (start, middle))
    if known is None and not test.rank.differs and not frame.loops:
        for note in frame.observers.fork:
            note(frame, node.test, (start, middle, len(frame.sync_points)), (True, True))
    frame.memory.names = {**saved, **wrapped_beside.of_choice(frame, node, saved, ends)}
    if len(results) == 1:
        return before_group.as_asked(frame, node, results[0])
    one, other = results
    if before is not None:
        note_held((one, frame.memory.heap), (other, frame.memory.heap), before)
    joined = defaults.of_choice(node, one, other) or wrapping_tests.either_model(frame, node.test, one, other)
    joined = joined or reduced_branches.of_choice(frame, node.test, test, one, other)
    plain = containers.uniform_if_plain(frame, one, other), containers.uniform_if_plain(frame, other, one)
    joined = joined or chosen_texts.note(frame, results, test.rank, join(*plain, test.rank))
    joined = started_or_none.of_choice(frame, node, (one, other), joined)
    joined = flags_of_tests.chosen(frame, node.test, (one, other), joined)
    return absences.of_choice(frame, node, control_of_condition(frame, node.test, test), (one, other), joined)


def _named(frame: Frame, node: cst.NamedExpr) -> Value:
    value = evaluate(frame, node.value)
    assignment.bind_target(frame, node.target, value)
    return value


def _lambda(frame: Frame, node: cst.Lambda) -> Value:
    return FunctionValue(frame.engine.function(node, frame))


def _yield(frame: Frame, node: cst.Yield) -> Value:
    value: Value = NONE
    if isinstance(node.value, cst.From):
        value = containers.iterate(frame, evaluate(frame, node.value.item))[0]
    elif node.value is not None:
        value = present_on_some.once_kept(frame, evaluate(frame, node.value), node.value)
    first_rank.note_yield(frame)
    frame.yielded = value if frame.yielded is None else join(frame.yielded, value)
    gradients.note_yield(frame)
    return UNKNOWN


def _await(frame: Frame, node: cst.Await) -> Value:
    return evaluate(frame, node.expression)


def _call(frame: Frame, node: cst.Call) -> Value:
    return before_group.as_asked(frame, node, calls.call(frame, node))


HANDLERS: dict[type, Callable[[Frame, Any], Value]] = {
    cst.Attribute: _attribute,
    cst.Await: _await,
    cst.BinaryOperation: _binary,
    cst.BooleanOperation: _boolean,
    cst.Call: _call,
    cst.Comparison: _comparison,
    cst.ConcatenatedString: _concatenated,
    cst.Dict: displays.dict_display,
    cst.DictComp: displays.dict_comprehension,
    cst.Float: _float,
    cst.FormattedString: _formatted,
    cst.GeneratorExp: displays.comprehension,
    cst.IfExp: _conditional,
    cst.Integer: _integer,
    cst.Lambda: _lambda,
    cst.List: displays.list_display,
    cst.ListComp: displays.comprehension,
    cst.Name: _name,
    cst.NamedExpr: _named,
    cst.Set: displays.list_display,
    cst.SetComp: displays.comprehension,
    cst.SimpleString: _string,
    cst.Subscript: _subscript,
    cst.Tuple: displays.tuple_display,
    cst.UnaryOperation: _unary,
    cst.Yield: _yield,
}
