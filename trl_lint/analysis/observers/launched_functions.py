"""Functions that each process of a distributed run is known to run: nothing else says that a program has several.

What is known of runs:

    accelerator = Accelerator()           each process runs the function, and what it calls
    dist.barrier()                        all ranks run it, as they meet in it, but see `reachability.py`
    comm.synchronize()                    the same, if that does nothing but wait for all ranks
    if rank == 0:                         the same, as only code for several processes asks
        save()
    set_up(args)                          each process runs it, if `set_up` starts the group
    for fold in folds:                    the same, if `train` makes a trainer
        train(fold)
    if args.train:                        the same, if that is all that `trainer_of` does
        trainer_of(args).fit(model)
    if not dist.is_initialized():         each process runs it: it starts the group if there is none
        dist.init_process_group("nccl")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.handled_errors import is_caught
from trl_lint.analysis.program.idioms.path_conditions import alternatives
from trl_lint.analysis.program.idioms.refused_starts import is_refused
from trl_lint.analysis.program.idioms.result_uses import is_only_returned
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import callee_of, is_literal_none, is_main_guard, last_name
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.event_trace import OF_EACH_PROCESS, EventTrace, called_traces, never_run_beside
from trl_lint.analysis.state.observing import Branch, CalleeRun, Observer
from trl_lint.analysis.transfer.processes import device_counts, job_flags, wide_conditions
from trl_lint.domain.control import Control
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.kinds import is_none
from trl_lint.domain.provenance import LauncherVariable, Step, source_step
from trl_lint.domain.ranks import Origin
from trl_lint.knowledge.backends import ASKS_TPU, DRIVES_RAY, SETS_FIRST_RANK
from trl_lint.knowledge.process_starts import CALLED_BY_EACH, NEED_GROUP, OF_NO_GROUP, START_GROUP
from trl_lint.knowledge.python import RANK_DECORATORS
from trl_lint.knowledge.schema import BARRIER, Collective, Row

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


class LaunchedFunctions(Observer["Frame"]):
    needed_by = OF_EACH_PROCESS
    statements = (cst.If,)

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name not in CALLED_BY_EACH or not device_counts.starts_several(frame, name, args):
            return
        is_open = isinstance(node, cst.Call) and name in START_GROUP and is_refused(frame.module.tree, node)
        if not is_open and not (name in NEED_GROUP and is_caught(frame.root, node, OF_NO_GROUP)):
            _note_start(frame, node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        """A method by which each process adapts an object to several: `learn.distrib_ctx()`."""
        if receiver is not None and name in CALLED_BY_EACH:
            _note_start(frame, node)

    def on_collective(self, frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> None:
        """Each rank runs a collective of all ranks, or the others would wait for ever."""
        if all(is_none(args.get(*group)) for group in row.groups):
            is_entered = _note_all_ranks(frame, node, Step(frame.module, node, "all processes meet here"))
            frame.trace.of_some_ranks |= not is_entered

    def on_branch(self, frame: Frame, branch: Branch) -> None:
        """Code that tests the rank is run by several processes."""
        if _tests_rank(frame, branch):
            shown = Step(frame.module, branch.test, "`{}` is tested, as several processes do")
            _note_all_ranks(frame, branch.test, shown, branch.provenance)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        """A caller of a helper that starts the program's processes unconditionally is run by each of them.

        So is a method that calls another one of its class in which all ranks synchronise, or that only some may enter,
        and what calls a helper that only waits for all ranks.
        """
        is_for_all = run.trace.of_all_ranks or bool(function.decorators & RANK_DECORATORS)
        is_of_class = function.cls is not None and function.cls is frame.cls
        if is_for_all and (is_of_class or _only_waits(frame, run, node)):
            _note_all_ranks(frame, node, run.trace.start)
        frame.trace.of_some_ranks |= is_of_class and run.trace.of_some_ranks
        if not run.trace.launched or _is_shown(frame) or is_test(frame.function):
            return
        if _is_step_of(frame) or _is_set_up(frame, function, run, node) or _is_maker(function, run.trace):
            frame.trace.launch(run.trace.start, node)

    def on_exit(self, frame: Frame, before: Control, decorated: Control) -> None:
        """A command may start several processes that run a program, which is asked once all runs are known.

        Whether only some ranks synchronise is known here: a condition of its own lets in those that it tests for.
        """
        frame.trace.of_some_ranks &= before.is_of_some_ranks
        commands = [each for each in frame.module.functions if each.is_command]
        if frame.function is None or commands == [frame.function]:
            frame.trace.program = frame.root

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        """Code that starts the process group if there is none is run by each process."""
        if isinstance(statement, cst.If) and not _is_shown(frame) and job_flags.starts_once(frame, statement):
            _note_start(frame, statement.test)


def _note_start(frame: Frame, node: cst.CSTNode) -> None:
    """Each process of a job runs the function with this node, unless it is a unit test."""
    if not is_test(frame.function):
        frame.trace.launch(Step(frame.module, node, "each process runs `{}`"), node)


def _only_waits(frame: Frame, run: CalleeRun, node: cst.CSTNode) -> bool:
    """Whether a statement calls a helper without arguments in which ranks only wait: `comm.synchronize()`."""
    if not (isinstance(node, cst.Call) and not node.args and getattr(frame.statement, "value", None) is node):
        return False
    return bool(run.sync_points) and all(each.kind == BARRIER.kind and not each.subgroup for each in run.sync_points)


def _is_shown(frame: Frame) -> bool:
    """Whether a place has shown that each process runs this function, whatever way it takes through it."""
    return frame.trace.launched and not never_run_beside(frame.trace)


def _note_all_ranks(frame: Frame, node: cst.CSTNode, shown: Step | None, test: Step | None = None) -> bool:
    """All ranks synchronise here, or a condition tests the rank: each runs this function, unless only some get here.

    node: the place. shown: what shows it. test: the condition that tests the rank, which has already excluded some of
    them. Returns whether each runs it.
    """
    conditions = (each for each in frame.memory.control.conditions if test is None or each.provenance is not test)
    if any(each.excludes_ranks for each in conditions):
        return False
    frame.trace.of_all_ranks = True
    frame.trace.shown_at[id(node)] = node
    frame.trace.start = frame.trace.start or shown
    return True


def _tests_rank(frame: Frame, branch: Branch) -> bool:
    """Whether a condition tests the rank of this process in a job of several.

    The process id is no rank, and a program that passes its work to Ray may be one process, as may one that sets its
    rank to 0. If `x is None` is tested as well, the code is for one process and for several.
    """
    if branch.by is not DividedBy.CONDITION or branch.origins != Origin.RANK:
        return False
    if any(map(frame.module.mentions, (DRIVES_RAY, SETS_FIRST_RANK))) or last_name(callee_of(branch.test)) in ASKS_TPU:
        return False
    if isinstance(branch.test, cst.BooleanOperation) and isinstance(branch.test.operator, cst.And):
        return False  # the other operand may be true for several processes only
    compared = (each.comparisons for each in alternatives(branch.test) if isinstance(each, cst.Comparison))
    if any(is_literal_none(each.comparator) for comparisons in compared for each in comparisons):
        return False
    return branch.asks_rank or isinstance(source_step(branch.provenance), LauncherVariable)


def _is_set_up(frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> bool:
    """Whether a call starts the group for all ranks or none, and trains nothing: `if args.distributed: set_up()`."""
    by_rank = frame.memory.control.is_of_some_ranks
    return not by_rank and job_flags.is_only_for_several(frame, function, node) and not _trains(run.trace)


def _is_maker(function: FunctionInfo, trace: EventTrace) -> bool:
    """Whether a helper does no more than make what shows that there are several processes, for whoever calls it.

    For example, `return Trainer(strategy="ddp")`: to call it is to make one, under a condition as well.
    """
    return any(is_only_returned(function.node, each) for each in trace.shown_at.values())


def _trains(trace: EventTrace) -> bool:
    """Whether a run, or a callee of it, starts a backward pass."""
    return any(each.backward for each in called_traces(trace))


def _is_step_of(frame: Frame) -> bool:
    """Whether the current call is an unconditional step of a function, or of the body of a script.

    So are the steps of a loop, whose turns all ranks begin together or nothing else is known of it.
    """
    if not all(map(wide_conditions.is_no_guard, frame.memory.control.conditions)):
        return False
    block = frame.root if isinstance(frame.root, cst.Module) else frame.root.body
    body = block.body if isinstance(block, (cst.Module, cst.BaseSuite)) else ()
    return any(line is frame.statement for line in _lines(body))


def _lines(body: Sequence[cst.BaseStatement | cst.BaseSmallStatement]) -> Iterator[cst.CSTNode]:
    """Statements that a block is sure to get to, if it raises nothing; a loop is taken to have turns."""
    for line in body:
        if isinstance(line, (cst.For, cst.With)) or (isinstance(line, cst.If) and is_main_guard(line.test)):
            yield from _lines(line.body.body)
        yield line
        if isinstance(line, cst.SimpleStatementLine):
            yield from line.body


OBSERVER = LaunchedFunctions()
