"""Learning-rate schedules whose length is the number of steps that a loop counts, where `prepare` gets them.

Events of a program whose loop does `step += 1` and ends at `if step >= args.max_steps`:

    schedule = get_linear_schedule_with_warmup(optimizer, 100, args.max_steps)
    optimizer, schedule = accelerator.prepare(optimizer, schedule)    SchedulePrepared, at the call before
    other = CosineAnnealingLR(optimizer, T_max=args.max_steps)        none: it is not prepared

    def schedule_for(optimizer):
        if args.kind == "linear":
            return LinearLR(optimizer, total_iters=args.max_steps)    SchedulePrepared; if "linear" is no default, it is
        return None                                                   one that may be constant
    schedule = accelerator.prepare(schedule_for(optimizer))

    loader = accelerator.prepare(loader)
    schedule = accelerator.prepare(CosineAnnealingLR(optimizer, epochs * len(loader)))
    for batch in loader: schedule.step()                              SchedulePrepared: the batches of one process

There is none with an Accelerator whose settings may leave a schedule one step at a time, or are not in sight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.events import SchedulePrepared
from trl_lint.analysis.program.definitions.named_functions import function_named
from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue
from trl_lint.analysis.program.idioms.option_defaults import parameter_default, setting_default
from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.idioms.prepared_names import calls_behind, names_of, step_for_each_process
from trl_lint.analysis.program.idioms.returned_calls import returned_calls
from trl_lint.analysis.program.idioms.step_counts import (
    CountedSchedule,
    GivenSteps,
    ReadAt,
    counts_processes,
    ends_loop,
    given_steps,
    turns_of,
)
from trl_lint.analysis.program.project.passed_arguments import argument_for
from trl_lint.analysis.program.syntax import (
    contexts_around,
    innermost,
    last_name,
    names_in,
    of_class,
    precedes,
    resolved,
)
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.data.prepared_lengths import BatchesOfProcess, counted_batches
from trl_lint.domain.kinds import ProjectName
from trl_lint.knowledge.accelerate import PREPARE
from trl_lint.knowledge.schedules import ACCUMULATES, CONSTANT, schedule_of
from trl_lint.knowledge.schema import Parameter

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row


class Made(NamedTuple):
    """A schedule that is made: the numbers of its steps and of its warm-up, and in which code.

    returned: whether a function returns it, which others may call as well. counted: the loader of a process whose
    batches the length counts.
    """

    place: ReadAt
    length: cst.BaseExpression
    warmup: cst.BaseExpression | None
    may_be_constant: bool
    accelerator: str
    returned: bool = False
    counted: BatchesOfProcess | None = None


class Schedules:
    """The schedules that the code of a file makes, by the id of the call."""

    def __init__(self) -> None:
        self.by_call: dict[int, Made] = {}


class PreparedSchedules(Observer["Frame"]):
    emits = frozenset({SchedulePrepared})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        row = schedule_of(name)
        # Of settings that are passed on beside the number of steps, one could only name another kind.
        is_open = args.double is not None and row is not None and row.kind is not None
        if row is None or args.star is not None or is_open:
            return
        length = _written(args, row.length)
        kind = None if row.kind is None else args.get(*row.kind)
        if length is None or (kind is not None and kind.const == CONSTANT):
            return
        option = _written(args, row.kind)
        place = ReadAt(frame.module.tree, frame.root, node)
        made = Made(place, length, _written(args, row.warmup), _may_be_constant(frame, option), frame.accelerator())
        made = made._replace(counted=counted_batches(frame, length))
        frame.module.notes.of(Schedules).by_call[id(node)] = made
        frame.engine.note_stored(Schedules, frame.module, id(node))

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        known = frame.module.notes.of(Schedules).by_call
        if name != PREPARE or not known or not isinstance(node, cst.Call) or not step_for_each_process(frame.module):
            return
        for each in node.args:
            for behind in () if each.star else calls_behind(frame.module.tree, frame.root, each.value):
                for call, made in _made_by(frame, behind, known):
                    schedule = _counted(made, node, each.value)
                    if schedule is not None:
                        frame.emit(SchedulePrepared, call, schedule=schedule)


def _may_be_constant(frame: Frame, kind: cst.BaseExpression | None) -> bool:
    """Whether a schedule is the constant one by default: by that of a setting, wherever it is declared."""
    if isinstance(kind, cst.Name):
        return parameter_default(frame.root, kind) == CONSTANT
    return _default_of(frame, kind) == CONSTANT


def _default_of(frame: Frame, setting: cst.BaseExpression | None) -> str | None:
    """The text that a setting is by default, wherever it is declared."""
    own = setting_default(frame.module, setting)
    if own is not None or not isinstance(setting, cst.Attribute):
        return own
    found = (setting_default(each, setting) for each in _imported(frame))
    return next((each for each in found if each is not None), None)


def _imported(frame: Frame) -> Iterator[Module]:
    """The files of the project from which a file imports names."""
    project = frame.engine.project
    for value in frame.engine.global_names(frame.module).values():
        if isinstance(value, ProjectName) and project.may_open(value.path):
            module = project.module(value.path)
            if module is not None:
                yield module
        elif isinstance(value, FunctionValue):
            yield value.function.module
        elif isinstance(value, ClassValue):
            yield value.cls.module


def _written(args: Arguments, parameter: Parameter | None) -> cst.BaseExpression | None:
    argument = None if parameter is None else args.node(*parameter)
    return None if argument is None else argument.value


def _made_by(frame: Frame, call: cst.Call, known: dict[int, Made]) -> Iterator[tuple[cst.Call, Made]]:
    """The schedules that a call makes, itself or as a function of the file that returns what other calls make."""
    own = known.get(id(call))
    if own is not None:
        yield call, own
        return
    helper = _function_called(frame, call.func)
    if helper is not None and helper.module is frame.module and isinstance(helper.node, cst.FunctionDef):
        calls = [each for each in returned_calls(helper.node) if id(each) in known]
        may_be_another = not any(_is_made_by_default(frame, helper.node, each) for each in calls)
        for each in calls:
            made = _as_called(frame, known[id(each)], helper, call)
            if made is not None:
                yield each, made._replace(may_be_constant=made.may_be_constant or may_be_another)


def _function_called(frame: Frame, callee: cst.BaseExpression) -> FunctionInfo | None:
    """The function, also while the file's body is run."""
    value = frame.engine.global_names(frame.module).get(callee.value) if isinstance(callee, cst.Name) else None
    return value.function if isinstance(value, FunctionValue) else function_named(frame.module, frame.function, callee)


def _is_made_by_default(frame: Frame, helper: cst.FunctionDef, call: cst.Call) -> bool:
    """Whether a function always makes a call, or does so for the default of the setting that its tests ask for."""
    return all(_by_default(frame, helper, branch.test) is holds for branch, holds in ifs_around(helper, call))


def _by_default(frame: Frame, helper: cst.FunctionDef, test: cst.BaseExpression) -> bool | None:
    """Whether a test, `args.kind == "linear"`, is true for the default of the setting; None if that is not known."""
    match test:
        case cst.Comparison(
            left=asked,
            comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=cst.SimpleString() as text)],
        ):
            default = _default_of(frame, resolved(helper, asked))
            return None if default is None else default == text.raw_value
    return None


def _as_called(frame: Frame, made: Made, helper: FunctionInfo, call: cst.Call) -> Made | None:
    """What a call of a function makes: if a parameter is the number of steps, that of its argument.

    The numbers belong to all callers of the function, so that they are not to be multiplied for one of them.
    """
    steps = given_steps(made.place, made.length)
    parameters = {each.name for each in helper.parameters}
    if steps is None or parameters.isdisjoint(steps.names):
        return made._replace(returned=True)
    passed = argument_for(helper, call, made.length.value) if isinstance(made.length, cst.Name) else None
    if passed is None or steps.names != {last_name(made.length)}:
        return None
    place = ReadAt(frame.module.tree, frame.root, call)
    return Made(place, passed, None, made.may_be_constant, made.accelerator, returned=True)


def _counted(made: Made, prepare: cst.Call, prepared: cst.BaseExpression) -> CountedSchedule | None:
    """The schedule, if its length is a setting that ends the loop in which its step is called."""
    tree = made.place.tree
    steps = given_steps(made.place, made.length)
    names = names_of(tree, prepare, prepared)
    if not names:
        return None
    if steps is None:
        return None if made.counted is None else _counted_by_loader(made, made.counted, prepare, names)
    for call in of_class(tree, cst.Call):
        if (
            isinstance(call.func, cst.Attribute)
            and call.func.attr.value == "step"
            and last_name(call.func.value) in names
        ):
            turns = list(turns_of(tree, call))
            accumulates = any(ACCUMULATES in contexts_around(tree, each) for each in turns)
            if any(ends_loop(tree, steps, each, accumulates=accumulates) for each in turns):
                scaled = _to_scale(made, steps)
                rest = (made.may_be_constant, prepare, call, _name_of_accelerator(made, prepare))
                return CountedSchedule(made.length, steps, scaled, accumulates, *rest)
    return None


def _counted_by_loader(
    made: Made, counted: BatchesOfProcess, prepare: cst.Call, names: set[str]
) -> CountedSchedule | None:
    """The schedule, if its length counts the batches of the process, in a loop over which its step is called."""
    tree, loader = made.place.tree, last_name(counted.loader)
    if counts_processes(made.place, made.length):
        return None
    for call in of_class(tree, cst.Call):
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "step":
            continue
        if last_name(call.func.value) not in names:
            continue
        loop = innermost(tree, call, cst.For)
        accumulates = ACCUMULATES in contexts_around(tree, call)
        if loop is not None and loader in names_in(loop.iter) and (counted.is_divided or not accumulates):
            steps = GivenSteps(frozenset({loader}))
            rest = (made.may_be_constant, prepare, call, _name_of_accelerator(made, prepare))
            return CountedSchedule(made.length, steps, _to_scale(made, steps), accumulates, *rest)
    return None


def _name_of_accelerator(made: Made, prepare: cst.Call) -> str:
    """The text by which the Accelerator is accessible where a schedule is made: as it is where it prepares it."""
    tree, root, node = made.place
    owner = prepare.func.value if isinstance(prepare.func, cst.Attribute) else None
    if made.accelerator or not isinstance(owner, cst.Attribute):
        return made.accelerator
    before = any(
        owner.deep_equals(each.target) and precedes(root, each, node)
        for statement in of_class(root, cst.Assign)
        for each in statement.targets
    )
    return tree.code_for_node(owner) if before else ""


def _to_scale(made: Made, steps: GivenSteps) -> tuple[cst.BaseExpression, ...]:
    """The numbers of steps to multiply: those of the warm-up as well, unless they count the processes already."""
    warmup = made.warmup
    if made.returned:
        return ()
    is_right = warmup is None or counts_processes(made.place, warmup) or _is_zero(warmup)
    numbers = (made.length,) if is_right or warmup is None else (warmup, made.length)
    if steps.accumulation is None:
        return numbers if all(isinstance(each, _PLAIN) for each in numbers) else ()
    return numbers if all(_factor_in(each, steps.accumulation) is not None for each in numbers) else ()


_PLAIN = (cst.Attribute, cst.Integer, cst.Name, cst.Subscript)


def _is_zero(number: cst.BaseExpression) -> bool:
    return isinstance(number, cst.Integer) and number.evaluated_value == 0


def _factor_in(number: cst.BaseExpression, factor: cst.BaseExpression) -> cst.BaseExpression | None:
    """The factor of a product that is written like another one."""
    match number:
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            return next((each for each in (left, right) if each.deep_equals(factor)), None)
    return None


OBSERVER = PreparedSchedules()
