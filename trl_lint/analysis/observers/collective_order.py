"""The synchronisation points of a run, in program order, those of its callees included.

    accelerator.gather(loss)              frame.sync_points: [gathered]
    log_all(metrics)  # gathers inside                       [gathered, gathered (via log_all)]
    accelerator.wait_for_everyone()                          [gathered, gathered (via log_all), barrier]

`rendezvous` uses them to compare the branches of a condition. They also say who waits in a barrier while others work,
which is a part of a function's context (`transfer/processes/first_rank.py`): so they are always recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.program.idioms.deepspeed_settings import leaves_whole
from trl_lint.analysis.program.idioms.path_conditions import is_none_test, none_test_operand
from trl_lint.analysis.program.idioms.settled_results import is_settled
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import (
    ancestors,
    assignments,
    callee_of,
    last_name,
    loop_targets,
    names_in,
    of_class,
    self_attribute,
)
from trl_lint.analysis.state.agreed_points import agreed_points
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import CalleeRun, Observer
from trl_lint.analysis.transfer.models import left_backwards, wrapped_parts
from trl_lint.analysis.transfer.models.awaited_models import (
    gathers_its_state,
    generates_with_shards,
    is_awaited,
    is_sharded,
    is_wrapped,
    may_be_sharded,
)
from trl_lint.analysis.transfer.models.engine_models import is_run_by_engine, is_run_here, runs_unknown_module
from trl_lint.analysis.transfer.models.left_backwards import LeftToCallers, is_of_network_passed
from trl_lint.analysis.transfer.models.made_here import is_of_network_made_here
from trl_lint.analysis.transfer.models.refused_wrappers import is_refused
from trl_lint.analysis.transfer.models.searched_outside import trains_outside
from trl_lint.analysis.transfer.models.trained_apart import are_trained_unwrapped
from trl_lint.analysis.transfer.models.wrapper_options import is_of_a_group, is_of_apex, sends_nothing_forward
from trl_lint.analysis.transfer.processes.after_group import is_after_group, is_missing, needs_group
from trl_lint.analysis.transfer.processes.groups import groups_of, is_of_all_ranks
from trl_lint.analysis.transfer.processes.job_flags import flag_of_job
from trl_lint.analysis.transfer.processes.passed_functions import may_meet_others
from trl_lint.analysis.transfer.processes.wide_conditions import is_left_by_error, is_tried
from trl_lint.domain import ranks
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.engines import SHARDS_PARAMETERS, TrainingEngine
from trl_lint.domain.kinds import NONE, LibraryInstance, ModelValue, class_name_of
from trl_lint.domain.model_roles import has_dtensors
from trl_lint.domain.process_groups import MeshGroup
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import HIDDEN, OF_SHARDS, SENT, SyncPoint, place_of
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge.heuristics import MAY_SYNCHRONISE
from trl_lint.knowledge.models import GENERATES, RUN_A_MODEL
from trl_lint.knowledge.schema import (
    BACKWARD,
    STATE_OF_BLOCK,
    WRAP,
    Collective,
    Function,
    Hook,
    Row,
    Synchronisation,
    Transfer,
)
from trl_lint.knowledge.torch_distributed import (
    ASKS_FOR_STATE,
    FSDP,
    GROUPS_OF_FSDP,
    LOADS_STATE,
    POINT_TO_POINT,
    PROCESS_GROUP,
    SENDS_STATES,
)
from trl_lint.knowledge.transformers import LOSSES

_LOSSES = frozenset({Kind.BATCH, Kind.TENSOR})
# Under which of its stages the forward of DeepSpeed's engine gathers parameters.
_OF_DEEPSPEED = frozenset({TrainingEngine.DEEPSPEED_ZERO3})
# The maximum number of synchronisation points that are kept for one call.
_MAX_PASSED = 12


class CollectiveOrder(Observer["Frame"]):
    needed_by = None  # for the control of every event, and for the contexts of functions

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        last = name.rpartition(".")[2]
        if isinstance(row, Hook) and last in LOSSES and _runs_a_wrapper(args):
            _note(frame, node, last, "forward")
        meets = None if row is None else row.synchronises
        if row is not None and meets is not None and not _is_local(frame, row, meets, args, node):
            group = args.keywords.get(PROCESS_GROUP, NONE)
            subgroup, of_mesh = not is_of_all_ranks(group), isinstance(group, MeshGroup)
            engines, symmetric = meets.engines, meets.symmetric and not subgroup
            _note(
                frame, node, last, meets.kind, engines=engines, subgroup=subgroup, of_mesh=of_mesh, symmetric=symmetric
            )
        if isinstance(row, Function) and row.returns == Transfer.PREPARED and _wraps(row, args):
            _note(frame, node, last, WRAP.kind)

    def on_attribute(self, frame: Frame, receiver: Value, name: str, node: cst.CSTNode) -> None:
        """A property in which all ranks communicate."""
        row = frame.engine.library_attribute(receiver.name, name) if isinstance(receiver, LibraryInstance) else None
        if row is not None and row.synchronises is not None:
            _note(frame, node, name, row.synchronises.kind, symmetric=row.synchronises.symmetric)

    def on_collective(self, frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> None:
        last = row.name.rpartition(".")[2]
        groups = groups_of(row, args)
        subgroup = not all(map(is_of_all_ranks, groups))
        symmetric = row.into is None and not subgroup
        of_mesh = any(isinstance(each, MeshGroup) for each in groups)
        _note(frame, node, last, row.result or last, subgroup=subgroup, of_mesh=of_mesh, symmetric=symmetric)

    def on_model_call(self, frame: Frame, model: Value, node: cst.CSTNode) -> None:
        """DDP broadcasts its buffers, and a wrapper prepares the reduction of its gradients."""
        for each in (model, *wrapped_parts.run_by(frame, model, node)):
            _note_forward(frame, each, node)

    def on_model_method(self, frame: Frame, model: Value, name: str, node: cst.CSTNode) -> None:
        for each in wrapped_parts.run_by(frame, model, node, name):
            _note_forward(frame, each, node)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        """In a backward pass, DDP reduces the gradients."""
        if name in GENERATES and (generates_with_shards(frame, receiver) or _generates_in_engine(frame, node)):
            _note(frame, node, name, OF_SHARDS, engines=SHARDS_PARAMETERS)
        if runs_unknown_module(receiver, name) and not frame.memory.control.parameters_gathered:
            _note(frame, node, "forward", OF_SHARDS, engines=_OF_DEEPSPEED)
        if name in ASKS_FOR_STATE and gathers_its_state(frame, receiver):
            _note(frame, node, name, STATE_OF_BLOCK.kind, engines=frozenset({TrainingEngine.FSDP}), symmetric=True)
        is_loss = name == "backward" and receiver.kind in _LOSSES and receiver.grad and receiver.rank.differs
        if is_loss and is_of_network_made_here(frame, callee_of(node)):
            return
        if is_loss and _has_forward(frame):
            _note(frame, node, name, BACKWARD.kind, subgroup=_only_in_groups(frame))
        elif is_loss and frame.function is not None:
            point = SyncPoint(node, name, BACKWARD.kind, frame.memory.control, frame.unroll_index)
            left_backwards.leave(frame, point, left_backwards.given_parts(frame, callee_of(node)))

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        model = next(iter(args.positional), None)
        if name in RUN_A_MODEL and model is not None and is_awaited(model):
            _note(frame, node, "forward", "forward", alone=sends_nothing_forward(frame, model, node))
        if name in POINT_TO_POINT:
            _note(frame, node, name, SENT)
        if name == FSDP and args.keywords.get(SENDS_STATES, UNKNOWN).const is True:
            is_of_all = all(is_of_all_ranks(args.get(*each) or NONE) for each in GROUPS_OF_FSDP)
            _note(frame, node, name.rpartition(".")[2], WRAP.kind, subgroup=not is_of_all)

    def on_unknown_call(self, frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
        func = node.func if isinstance(node, cst.Call) else None
        name = func.attr if isinstance(func, cst.Attribute) else func
        if isinstance(name, cst.Name) and MAY_SYNCHRONISE.fits(name.value):
            _note(frame, node, name.value, HIDDEN)
        for value in args.all():
            passed = may_meet_others(frame, value, node)
            if passed:
                _note(frame, node, passed, HIDDEN)
            if frame.memory.control.grad and is_awaited(value):
                frame.notes.of(RunByUnknown).is_passed |= _is_result_used(frame, node)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        agreed = agreed_points(function.node, run.sync_points, run.entry)
        passed = [each for each in agreed.points if not (needs_group(function, each) and is_after_group(frame, node))]
        passed = passed[:_MAX_PASSED]
        fills = bool(passed) and _fills_missing(frame, node)
        for point in passed:
            copy = _note(
                frame,
                node,
                point.name,
                point.kind,
                engines=point.engines,
                subgroup=point.subgroup,
                of_mesh=point.of_mesh,
                symmetric=point.symmetric,
                alone=point.alone,
            )
            inner = [each for each in _inner_conditions(point.control, run.entry) if agreed.matters(point, each)]
            _describe(frame, copy, point, function, run.entry, inner, fills)
            copy.instead = frozenset() if fills or copy.certain else agreed.instead_of(point, inner)
        left = run.trace.notes.of(LeftToCallers).points if run.trace is not frame.trace else {}
        for point, given in left.values():
            if is_of_network_passed(frame, function, node, given):
                continue
            copy = SyncPoint(node, point.name, point.kind, frame.memory.control, frame.unroll_index)
            _describe(frame, copy, point, function, run.entry, _inner_conditions(point.control, run.entry), False)
            if _has_forward(frame):
                copy.subgroup = _only_in_groups(frame)
                frame.sync_points += [copy] if copy.is_awaited else []
            else:
                left_backwards.leave(frame, copy, left_backwards.given_further(frame, function, node, given))


class RunByUnknown:
    """Whether something unknown gets a wrapper and returns something: `loss = compute(model, batch)`."""

    def __init__(self) -> None:
        self.is_passed = False


def _has_forward(frame: Frame) -> bool:
    """Whether a wrapper's forward has run by now, here or in something unknown that has got the wrapper."""
    forwards = (point.grad for point in frame.sync_points if point.kind == "forward")
    return frame.notes.of(RunByUnknown).is_passed or any(forwards)


def _only_in_groups(frame: Frame) -> bool:
    """Whether all wrappers whose forward has run are those of process groups."""
    forwards = [point for point in frame.sync_points if point.kind == "forward"]
    return bool(forwards) and all(point.subgroup for point in forwards)


def _is_result_used(frame: Frame, node: cst.CSTNode) -> bool:
    around = ancestors(frame.root, node)
    return bool(around) and not isinstance(around[-1], cst.Expr)


def _describe(
    frame: Frame,
    copy: SyncPoint,
    point: SyncPoint,
    function: FunctionInfo,
    entry: Control,
    inner: Sequence[Control],
    fills: bool,
) -> None:
    """Say of the point at a call how certain it is, and where in the called function it happens.

    inner: the conditions in the function under which ranks reach it.
    """
    copy.grad &= point.grad
    copy.of_group = needs_group(function, point)
    inner = [each for each in inner if not (is_tried(each) or is_left_by_error(each))]  # as a rule, nothing goes wrong
    copy.certain = point.certain and not inner and not point.control.engine and not fills
    known = (point.certain or point.by_settings) and (entry.engine or not point.control.engine)
    copy.by_settings = (
        not (copy.certain or fills)
        and known
        and all(_is_loop(function, each) or _is_on_untested_settings(frame, each, copy.node) for each in inner)
    )
    what = "the forward pass is" if point.kind == "forward" else f"`{point.name}` is called"
    text = f"{what} in `{function.name}`" if point.via is None else f"in `{function.name}`"
    copy.via = Step(function.module, point.node, text, point.via)


def _fills_missing(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a call makes what is missing, so that whether it is reached cannot be said.

    if self.model is None: self.model = self.build()      another call may have set it before, on any ranks
    if folder is None: folder = named_by(time())          a loop above may have found it
    """
    around = ancestors(frame.root, node)
    targets = [target.target for each in around if isinstance(each, cst.Assign) for target in each.targets]
    tests = [each.test for each in around if isinstance(each, cst.If)] if targets else []
    attributes = {name for target in targets if (name := self_attribute(target))}
    names = {target.value for target in targets if isinstance(target, cst.Name)}
    for test in tests:
        asked = none_test_operand(test) if is_none_test(test) else None
        if isinstance(asked, cst.Name) and asked.value in names and _is_looked_for(frame, asked.value, around):
            return True
        denied = (
            test.expression if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not) else None
        )
        tested = asked or denied
        if tested is not None and self_attribute(tested) in attributes:
            return True
    return False


def _is_looked_for(frame: Frame, name: str, around: Sequence[cst.CSTNode]) -> bool:
    """Whether a loop that is not around a call assigns to a name, and ends with that: `if fits(each): name = each`."""
    loops = (each for each in of_class(frame.root, cst.For) if not any(each is one for one in around))
    return any(
        any(of_class(loop.body, cst.Break))
        and any(isinstance(target, cst.Name) and target.value == name for target, _ in assignments(loop.body))
        for loop in loops
    )


def _note_forward(frame: Frame, model: Value, node: cst.CSTNode) -> None:
    if not frame.memory.control.grad and is_of_apex(model):
        return
    if is_awaited(model):
        is_alone = sends_nothing_forward(frame, model, node)
        if is_alone and generates_with_shards(frame, model):
            _note(frame, node, "forward", OF_SHARDS, engines=SHARDS_PARAMETERS)
            return
        _note(frame, node, "forward", "forward", subgroup=is_of_a_group(model), alone=is_alone)
    elif is_sharded(frame, model) and frame.memory.control.grad:
        _note(frame, node, "forward", "forward")
    elif may_be_sharded(frame, model) or is_sharded(frame, model):
        _note(frame, node, "forward", OF_SHARDS, engines=SHARDS_PARAMETERS)
    elif has_dtensors(model) and frame.memory.control.grad:
        _note(frame, node, "forward", "forward", subgroup=True, of_mesh=True)
    elif is_run_here(frame, node) and not frame.memory.control.parameters_gathered:
        _note(frame, node, "forward", OF_SHARDS, engines=_OF_DEEPSPEED)


def _runs_a_wrapper(args: Arguments) -> bool:
    """Whether a method of Trainer that computes a loss is passed a wrapped model, whose forward it runs."""
    model = args.get(0, "model")
    return model is not None and is_wrapped(model)


def _is_local(frame: Frame, row: Row, synchronises: Synchronisation, args: Arguments, node: cst.CSTNode) -> bool:
    """Whether a call is no synchronisation point here, although its row is one.

    It may be a backward pass in which no wrapper reduces anything, a block in which no state is requested, a wrapper
    that is refused, a call that only some ranks have to make, or one whose result an earlier one has settled.
    """
    if _is_of_this_rank(frame, synchronises, args) or is_refused(frame, row, args, node):
        return True
    if synchronises.once and is_settled(frame.root, node):
        return True
    if synchronises.only:
        return leaves_whole(frame.root, args.expression(synchronises.only))
    if synchronises is STATE_OF_BLOCK:
        block = next((each for each in ancestors(frame.root, node) if isinstance(each, cst.With)), None)
        called = set() if block is None else {last_name(call.func) for call in of_class(block.body, cst.Call)}
        return ASKS_FOR_STATE.isdisjoint(called) or not LOADS_STATE.isdisjoint(called)
    if not isinstance(row, Function) or synchronises is not BACKWARD:
        return False
    if frame.cls is not None and trains_outside(frame.cls):
        return True
    loss = args.expression(0)
    return are_trained_unwrapped(frame) or (loss is not None and is_of_network_made_here(frame, loss))


def _generates_in_engine(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether an engine of DeepSpeed or the module in one generates, where its parameters are not gathered already."""
    return not frame.memory.control.parameters_gathered and is_run_by_engine(frame, callee_of(node))


def _is_of_this_rank(frame: Frame, synchronises: Synchronisation, args: Arguments) -> bool:
    """Whether the arguments make it a call of this rank alone, or other ranks may make it at some other time."""
    told = {name: value.const for name, value in args.keywords.items()}
    is_own = told.get(synchronises.unless) is True or told.get(synchronises.allowed, True) is not True
    if is_own or told.get(synchronises.given, not synchronises.given) is not True:
        return True
    origins = (each.rank.origins for each in frame.memory.control.conditions)
    return synchronises.by_rank and Origin.RANK not in origins


def _wraps(row: Function, args: Arguments) -> bool:
    """Whether a model with anything to train is prepared: its wrapper compares the parameters of all ranks."""
    if row.switch is not None and args.get(*row.switch) is not None:
        return False
    return any(map(_is_trained, args.positional))


def _is_trained(value: Value) -> bool:
    """Whether a value is a model that gets a wrapper."""
    if isinstance(value, ModelValue):
        return value.grad and value.wrapping is not None
    return class_name_of(value).startswith("torch.nn.")


def _note(
    frame: Frame,
    node: cst.CSTNode,
    name: str,
    kind: str,
    *,
    engines: frozenset[TrainingEngine] = frozenset(),
    subgroup: bool = False,
    of_mesh: bool = False,
    symmetric: bool = False,
    alone: bool = False,
) -> SyncPoint:
    point = SyncPoint(
        node,
        name,
        kind,
        frame.memory.control,
        frame.unroll_index,
        engines=engines,
        subgroup=subgroup,
        of_mesh=of_mesh,
        symmetric=symmetric,
        alone=alone,
    )
    if point.is_awaited and not is_missing(frame, node):
        frame.sync_points.append(point)
    return point


def _inner_conditions(control: Control, entry: Control) -> list[Control]:
    """The conditions that are inside the function itself."""
    outer = {id(place_of(each)) for each in entry.conditions}
    return [each for each in control.conditions if id(place_of(each)) not in outer]


def _is_on_untested_settings(frame: Frame, condition: Control, node: cst.CSTNode) -> bool:
    """Whether a callee's condition tests settings that nothing tests on the path to its call.

    Then it has the same result on all ranks, and may be true, whichever of them make the call.
    """
    test = place_of(condition)
    if condition.rank == ranks.UNKNOWN and isinstance(test, cst.BaseExpression) and (flag := flag_of_job(test)):
        return flag not in _tested_before(frame, node)
    if test is None or condition.rank != ranks.SETTING:
        return False
    return names_in(test).isdisjoint(_tested_before(frame, node))


def _is_loop(function: FunctionInfo, condition: Control) -> bool:
    """Whether a callee's condition is that its loop has an iteration at all, which its caller may assume.

    `if item is None: continue` leaves out some of the iterations, hardly all of them.
    """
    if condition.uniformity is not Uniformity.UNKNOWN:
        return False
    test = place_of(condition)
    if any(loop.iter is test for loop in of_class(function.node, cst.For)):
        return True
    item = none_test_operand(test) if isinstance(test, cst.BaseExpression) else None
    return isinstance(item, cst.Name) and item.value in loop_targets(function.node)


def _tested_before(frame: Frame, node: cst.CSTNode) -> set[str]:
    """The names tested on the path to a place, without the objects that hold them (`lora` of `a.lora`)."""
    around = [each.test for each in ancestors(frame.root, node) if isinstance(each, (cst.If, cst.IfExp))]
    tests = [*around, *(place for each in frame.memory.control.conditions if (place := place_of(each)) is not None)]
    owners = {
        id(name) for test in tests for each in of_class(test, cst.Attribute) for name in of_class(each.value, cst.Name)
    }
    return {name.value for test in tests for name in of_class(test, cst.Name) if id(name) not in owners}


OBSERVER = CollectiveOrder()
