"""Data sets: which ranks compute and cache them, and who uses one that only some ranks have.

Events of a program:

    with accelerator.main_process_first():
        data = data.map(tokenize)         DatasetPrepared(first_rank=…): the others read its file
    data = data.map(tokenize)             DatasetPrepared(first_rank=None): every rank computes it
    if rank == 0: train = train.map(tokenize)
    Trainer(train_dataset=train)          DatasetDivergence: the others use the raw one
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.data_events import DatasetPrepared
from trl_lint.analysis.events import DatasetDivergence, Event
from trl_lint.analysis.program.definitions.notebooks import starts_from_kernel
from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import names_in, used_names
from trl_lint.analysis.state.observing import CalleeRun, Observer, Reached
from trl_lint.analysis.transfer.processes import done_before
from trl_lint.domain import ranks
from trl_lint.domain.kinds import BoundMethod, class_name_of
from trl_lint.domain.ranks import State
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge.datasets import DATASET, DISABLES_CACHING, RANK_OPTION, SAYS_ONLY, is_dataset
from trl_lint.knowledge.heuristics import ARGUMENTS_WITH_RANK, SETTINGS_OBJECT
from trl_lint.knowledge.schema import Preparation

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Project
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.knowledge.schema import Row

_ARGUMENTS = "transformers.TrainingArguments"
# The data sets that a trainer iterates over on every rank.
_ITERATED_OVER = ("eval_dataset", "train_dataset")


class Preparing(done_before.RepeatableWork):
    """The work of a run that computes data sets: if some ranks have done it before, there is a file."""


class Preprocessing(Observer["Frame"]):
    emits = frozenset({DatasetDivergence, DatasetPrepared})

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        """`if rank == 0: encode(path)`, a barrier, then `encode(path)` on all ranks: they read its file."""
        done_before.note_call(frame, Preparing, run, function, node, waits=False)

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        """A trainer is created: emit an event if the ranks pass different data sets to it."""
        if not base or frame.engine.class_row(base) is not None:
            _check_data_sets(frame, args, node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if isinstance(row, Preparation):
            _emit(frame, row, args, node, receiver)

    def on_reached(self, event: Event, reached: Reached) -> Event | None:
        """If the mapped function holds a trainer that has been built, each rank has its own cache file."""
        if not isinstance(event, DatasetPrepared):
            return event
        has_own_cache = event.holds_trainer and not reached.builds
        return None if has_own_cache or event.only_reads() else event


def _check_data_sets(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    for name in _ITERATED_OVER:
        value = args.keywords.get(name, UNKNOWN)
        provenance = value.provenance
        if (
            provenance is None
            or not is_dataset(value)
            or value.rank != ranks.RANK_LOCAL
            or provenance.module is not frame.module
        ):
            continue
        step = frame.step(node, f"every rank uses its own `{name}` here")
        frame.emit(DatasetDivergence, provenance.node, tag=name, condition=provenance, use=step, name=name)


def _emit(frame: Frame, row: Preparation, args: Arguments, node: cst.CSTNode, receiver: Value | None) -> None:
    """A data set is computed: emit an event, unless each rank has its own, or no file is shared."""
    if receiver is None or receiver.rank.state is not State.SAME or _differs(args) or args.star is not None:
        return
    preparing = frame.trace.notes.of(Preparing)
    preparing.is_done = True
    if done_before.made_before(frame, node) is not None:
        return
    work = args.get(*row.work)
    if work is None or work.kind is Kind.NONE:
        return
    if any(args.keywords.get(name, DATASET).const is keeps for name, keeps in row.uncached.items()):
        return
    if _reads_rank(frame, work) or (frame.function is None and starts_from_kernel(frame.module)):
        return
    if _is_without_cache(frame.engine.project):
        return
    frame.emit(
        DatasetPrepared,
        node,
        method=row.name.rpartition(".")[2],
        first_rank=frame.memory.control.first_rank,
        in_trainer=_in_trainer(frame),
        holds_trainer=_holds_trainer(frame, work),
        accelerator=frame.accelerator(),
        only_reads=preparing.only_repeats,
    )


def _differs(args: Arguments) -> bool:
    """Whether ranks pass different arguments that are part of the name of the cache file."""
    named = (value for name, value in args.named() if name not in SAYS_ONLY)
    arguments = (value for value in (*named, args.double) if value is not None and value.kind is not Kind.CONTAINER)
    return any(value.rank.differs for value in arguments)


@noted
def _is_without_cache(project: Project) -> bool:
    """Whether any linted file disables the caching of data sets, which affects all that a program imports."""
    return any(project.mentions(path, each) for path in sorted(project.linted) for each in DISABLES_CACHING)


def _reads_rank(frame: Frame, work: Value) -> bool:
    """Whether a function reads an object that holds the rank: then each rank has its own cache file.

    That is a `TrainingArguments`, or the arguments of a program that has an option for the rank.
    """
    if not isinstance(work, FunctionValue):
        return False
    function, own = work.function, work.function.module.mentions(RANK_OPTION)
    for name in used_names(function.node) - {each.name for each in function.parameters}:
        # A local name where it is mapped, or a global name of its file.
        value = frame.memory.names.get(name) if function.closure is not None else None
        value = value or frame.engine.global_name(function.module, name)
        if library.is_subclass(class_name_of(value), _ARGUMENTS, frame.engine.versions):
            return True
        is_unknown = value is not None and value.kind is Kind.UNKNOWN
        if is_unknown and (ARGUMENTS_WITH_RANK.fits(name) or (own and SETTINGS_OBJECT.fits(name))):
            return True
    return False


def _holds_trainer(frame: Frame, work: Value) -> bool:
    """Whether a function is a method of an object with an Accelerator, or a closure over such an object."""
    if isinstance(work, BoundMethod):
        return frame.has_accelerator(work.receiver)
    if not isinstance(work, FunctionValue) or work.function.closure is None:
        return False
    read = names_in(work.function.node)
    return any(frame.has_accelerator(value) for name, value in frame.memory.names.items() if name in read)


def _in_trainer(frame: Frame) -> bool:
    scope: Frame | None = frame
    while scope is not None:
        if scope.cls is not None:
            return frame.engine.is_entry_class(scope.cls)
        scope = scope.outer
    return False


OBSERVER = Preprocessing()
