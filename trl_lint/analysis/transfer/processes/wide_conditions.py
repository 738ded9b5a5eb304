"""Conditions that exclude no rank, though they are not known to have the same outcome on all of them.

For example:

    if is_main_process or use_deepspeed:    "use_deepspeed" admits all ranks if it is true
    if batch is None: break                 all ranks have run the loop by then
    try: save(model)                        nothing goes wrong, as a rule
    for epoch in range(start, epochs):      determines how often, not which ranks
    if loss < best_loss:                    ranks by their own losses: maybe one of them, maybe all
    if wandb.run is not None:               depends on where a run was started, not on the rank
    if global_step % args.log_every == 0:   all ranks have resumed from the same checkpoint
    if global_step == max_train_steps:      the same, wherever the second number comes from
    if epoch % self.every == 0:             the same, however the frequency is named
    if is_main_process:
        if os.path.exists(path): return     all continue if the path does not exist
    if resumed: wandb.init(id=last)         whatever a rank finds on its disk, it starts a run
    else: wandb.init()
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.done_either_way import is_called_either_way
from trl_lint.analysis.program.idioms.handled_errors import MISSING_FILE, OF_FILES, catches
from trl_lint.analysis.program.idioms.path_conditions import EXITS, alternatives, branch_of, exits_in, none_test_operand
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assignments,
    below,
    definitions_around,
    last_name,
    names_in,
    of_class,
    operands,
)
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.kinds import class_name_of
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Value
from trl_lint.knowledge.effects import RUNS
from trl_lint.knowledge.heuristics import COUNTER, LAST_COUNT, NAMES_ENGINE
from trl_lint.knowledge.python import MADE_ONCE, TAKEN_ONCE
from trl_lint.knowledge.schema import Effect

_NEXT = "next"
# What code catches where something goes wrong, and not to ask for something; and the end of an iterator.
_ANY_ERROR = frozenset({"BaseException", "Exception", "RuntimeError", "StopIteration"})


def is_no_guard(condition: Control) -> bool:
    """Whether an unknown condition only determines when all ranks are done, with a loop or with the whole program.

    `if batch is None: break` ends a loop that all ranks have run by then; `try: main()` catches what went wrong. Where
    a loop starts may have been read from a checkpoint: `for epoch in range(first_epoch, epochs)`.
    """
    place = place_of(condition)
    is_read = condition.rank.origins == Origin.IO
    if place is None or not (condition.uniformity is Uniformity.UNKNOWN or is_read):
        return False
    root = condition.provenance.module.tree
    if _controls_loop(root, place):
        return Origin.RANK not in condition.rank.origins
    if condition.uniformity is not Uniformity.UNKNOWN:
        return False
    if isinstance(place, (cst.Try, cst.TryStar)):
        return not any(isinstance(each, (cst.FunctionDef, *LOOPS)) for each in ancestors(root, place))
    branch = branch_of(root, place)
    return branch is not None and branch.orelse is None and _only_breaks(branch)


def is_done_either_way(condition: Control, effect: Effect, node: cst.CSTNode) -> bool:
    """Whether a rank does something that concerns no files whatever it finds on its disk."""
    place = place_of(condition)
    if place is None or condition.rank.origins != Origin.IO or effect.path is not None:
        return False
    unless = frozenset(each for each in effect.unless if isinstance(each, str))
    return is_called_either_way(condition.provenance.module.tree, place, node, unless)


def is_tried(condition: Control) -> bool:
    """Whether all that a condition asks is that nothing goes wrong: `try: torch.save(…)`, `except Exception: …`.

    What handles errors of files, or makes what must be new, may be how one rank is chosen: `try: os.mkdir(lock)`. So
    may be what handles that a file is missing which the first rank takes away: `try: os.rename(job, mine)`.
    """
    place = place_of(condition)
    is_unknown = condition.uniformity is Uniformity.UNKNOWN
    return is_unknown and isinstance(place, (cst.Try, cst.TryStar)) and _goes_well(place)


def is_left_by_error(condition: Control) -> bool:
    """Whether all that a condition asks is that nothing has gone wrong before: `except Exception: continue`.

    Or that an iterator has another item, `except StopIteration: break`: so ends a loop that has had its turns by then;
    and that an item which it has given is there: `if batch is None: continue`. `except KeyError: return` asks for more.
    """
    place = place_of(condition)
    if condition.uniformity is not Uniformity.UNKNOWN or place is None:
        return False
    root = condition.provenance.module.tree
    if isinstance(place, (cst.ExceptHandler, cst.ExceptStarHandler)):
        tried = ancestors(root, place)[-1]
        is_any = place.type is None or last_name(place.type) in _ANY_ERROR
        return is_any and isinstance(tried, (cst.Try, cst.TryStar)) and _goes_well(tried)
    item = none_test_operand(place) if isinstance(place, cst.BaseExpression) else None
    functions = definitions_around(root, place)
    return isinstance(item, cst.Name) and bool(functions) and _is_next_item(functions[-1], item)


def _is_next_item(function: cst.CSTNode, name: cst.Name) -> bool:
    values = [value for target, value in assignments(function) if name.deep_equals(target)]
    return bool(values) and all(isinstance(each, cst.Call) and last_name(each.func) == _NEXT for each in values)


def _goes_well(tried: cst.Try | cst.TryStar) -> bool:
    calls = list(of_class(tried.body, cst.Call))
    chosen_by = OF_FILES | {MISSING_FILE} if any(map(_may_be_taken, calls)) else OF_FILES
    is_of_files = any(each.type is not None and catches(each, chosen_by) for each in tried.handlers)
    return not is_of_files and not any(map(_must_be_new, calls))


def _may_be_taken(call: cst.Call) -> bool:
    """Whether only the first rank that makes this call finds the file: `os.remove(token)`."""
    return last_name(call.func) in TAKEN_ONCE


def _must_be_new(call: cst.Call) -> bool:
    """Whether only the first rank that makes this call succeeds: `os.mkdir(lock)`, `open(lock, "x")`."""
    name = last_name(call.func)
    if name == "open":
        modes = (each.value.raw_value for each in call.args[1:] if isinstance(each.value, cst.SimpleString))
        return any(mode.startswith("x") for mode in modes) or "O_EXCL" in names_in(call)
    given = {each.keyword.value for each in call.args if each.keyword is not None}
    return name in MADE_ONCE and given.isdisjoint(MADE_ONCE[name])


def _controls_loop(root: cst.CSTNode, place: cst.CSTNode) -> bool:
    """Whether a place is the iterable or the test of a loop."""
    around = next(reversed(ancestors(root, place)), None)
    return place is (
        around.iter if isinstance(around, cst.For) else around.test if isinstance(around, cst.While) else 0
    )


def exits_for_other_reasons(condition: Control, control: Control, node: cst.CSTNode) -> bool:
    """Whether ranks that a condition admits leave under another condition, not on the rank, and else reach a node.

    `if is_main_process: if os.path.exists(path): return -1`: all continue if the path does not exist. A node in another
    function may be reached from within the branch, where the condition still holds.
    """
    test = place_of(condition)
    root = condition.provenance.module.tree
    branch = branch_of(root, test) if test is not None else None
    if branch is None or branch.orelse is not None or any(each is branch for each in ancestors(branch, node)):
        return False
    if not ancestors(root, node) or definitions_around(root, node) != definitions_around(root, branch):
        return False
    inner = [each for each in of_class(branch.body, cst.If) if exits_in(each)]
    if not inner or any(map(_both_branches_exit, inner)) or _exits_directly(branch, inner):
        return False
    conditions = (each for each in control.conditions if any(place_of(each) is one.test for one in inner))
    return not any(Origin.RANK in each.rank.origins for each in conditions)


def _both_branches_exit(branch: cst.If) -> bool:
    """Whether both branches of a test may leave."""
    exits = [any(isinstance(each, EXITS) for each in below(arm)) for arm in (branch.body, branch.orelse) if arm]
    return len(exits) > 1 and all(exits)


def _exits_directly(branch: cst.If, inner: list[cst.If]) -> bool:
    """Whether an exit of a branch is in none of the inner ones."""
    return any(not any(exit_ is each for one in inner for each in exits_in(one)) for exit_ in exits_in(branch))


def is_of_rank_local_data(condition: Control) -> bool:
    """Whether a condition depends on rank-local data, draws or parts of a sum: it may admit any rank, or several."""
    place, by_data = place_of(condition), Origin.DATA | Origin.RNG | Origin.ROOT
    origins = condition.rank.origins
    if condition.rank.how == ranks.HAS_ROWS:
        by_data |= Origin.RANK
    if place is None or condition.uniformity is not Uniformity.DIVERGENT or not origins & by_data:
        return False
    if origins & ~(by_data | Origin.IO):
        return False
    root = condition.provenance.module.tree
    return branch_of(root, place) is not None or _controls_loop(root, place)


def code_of_condition(condition: Control, node: cst.CSTNode) -> str:
    """The code of a condition, if it is the test of an `if` statement whose body contains the node."""
    test = place_of(condition)
    branch = branch_of(condition.provenance.module.tree, test) if test is not None else None
    inside = branch is not None and any(each is branch.body for each in ancestors(branch, node))
    return condition.provenance.module.tree.code_for_node(test) if inside else ""


def _only_breaks(branch: cst.If) -> bool:
    last = branch.body.body[-1] if branch.body.body else None
    ends = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Break)
    return ends and all(isinstance(each, cst.Break) for each in exits_in(branch))


def part_for_all_ranks(frame: Frame, condition: Control) -> str:
    """The part of a condition that admits all ranks if it is true: the second of `is_main_process or use_deepspeed`.

    Code that checks for the engine in addition to the rank lets all ranks in, for a collective; another check there may
    mean that there is only one process. In addition to an unknown part, a setting is enough: `args.clear or ask()`.
    """
    test = place_of(condition)
    if not isinstance(test, cst.BooleanOperation) or not isinstance(test.operator, cst.Or):
        return ""
    tree = condition.provenance.module.tree
    by_rank = condition.uniformity is Uniformity.DIVERGENT
    wide = next((each for each in alternatives(test) if _is_wide(frame, each, tree.code_for_node(each), by_rank)), None)
    return tree.code_for_node(wide) if wide is not None and _has_no_exit(tree, test) else ""


def _is_wide(frame: Frame, part: cst.CSTNode, code: str, by_rank: bool) -> bool:
    if by_rank:
        return NAMES_ENGINE.fits(code)
    value = _value_of(frame, part)
    return value is not None and value.rank == ranks.SETTING


def _has_no_exit(root: cst.Module, test: cst.BooleanOperation) -> bool:
    """Whether a test only decides on its own body: there is no `else`, and no exit in the body."""
    branch = branch_of(root, test)
    return branch is not None and branch.orelse is None and not exits_in(branch)


def tests_tracker_run(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a condition checks for the run of a tracker, which does not depend on the rank."""
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=cst.Name(value="None"))]):
            return tests_tracker_run(frame, left)
        case cst.UnaryOperation(operator=cst.Not(), expression=negated):
            return tests_tracker_run(frame, negated)
        case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
            # The other parts may be the same on all ranks.
            tests = [tests_tracker_run(frame, part) for part in (left, right)]
            return any(tests) and all(
                is_test or _is_same(frame, part) for is_test, part in zip(tests, (left, right), strict=True)
            )
    return class_name_of(_value_of(frame, test)) in RUNS


def depends_on_progress(frame: Frame, condition: Control) -> bool:
    """Whether a condition depends on the progress of the training: `global_step % args.log_every == 0`.

    A resumed program reads the counter from a checkpoint's folder name or file: it is not known to be the same
    everywhere, but the ranks train together. All other operands have to be known.
    """
    test = place_of(condition)
    if test is None or condition.rank.origins & ~Origin.IO:
        return False
    parts = list(operands(test))
    divisors = _divisors_of_counts(test)
    unsettled = [part for part in parts if not (_is_settled(frame, part) or _is_frequency(frame, part, divisors))]
    counts_up = bool(unsettled or divisors) and any(COUNTER.fits(last_name(part)) for part in parts)
    return counts_up and unsettled != [test] and all(_is_count(frame, part) for part in unsettled)


def _divisors_of_counts(test: cst.CSTNode) -> list[cst.CSTNode]:
    """What counters are divided by with remainder: `every` in `(epoch + 1) % every`."""
    return [
        each.right
        for each in of_class(test, cst.BinaryOperation)
        if isinstance(each.operator, cst.Modulo) and any(COUNTER.fits(last_name(part)) for part in operands(each.left))
    ]


def _is_frequency(frame: Frame, node: cst.CSTNode, divisors: list[cst.CSTNode]) -> bool:
    """Whether a counter is divided by it: however it is named, it says how often something is done."""
    value = _value_of(frame, node)
    return any(each is node for each in divisors) and (value is None or not value.rank.origins)


def _is_count(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether an operand is the counter, or its last value: `global_step == max_train_steps`."""
    value = _value_of(frame, node)
    is_count = COUNTER.fits(last_name(node)) or LAST_COUNT.fits(last_name(node))
    return is_count and (value is None or not value.rank.origins & ~Origin.IO)


def _is_settled(frame: Frame, node: cst.CSTNode) -> bool:
    value = _value_of(frame, node)
    return value is not None and (value.rank.is_uniform or value.rank == ranks.SETTING)


def _is_same(frame: Frame, node: cst.CSTNode) -> bool:
    value = _value_of(frame, node)
    return value is not None and value.rank.is_uniform


def _value_of(frame: Frame, node: cst.CSTNode) -> Value | None:
    """The fact of a part of a condition, which may be one under which the function is called."""
    of_each = (values.get(id(node)) for values in (frame.node_values, *frame.engine.caller_values))
    return next((value for value in of_each if value is not None), None)
