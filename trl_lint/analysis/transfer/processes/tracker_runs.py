"""Uses of a tracker's current run by its name, which is there only on the ranks that have started one.

For example:

    wandb.run.id                                   fails where there is none
    wandb.config.size = 3                          so does this
    if wandb.run is not None: wandb.run.id         nothing: the code allows for that
    wandb.init().id                                nothing: it is there
    if is_main_process: wandb.init()
    wandb.config.size = 3                          fails on the other ranks
    wandb.log({"loss": loss})                      so does this, wherever the program does it

Each process logs to a run of its own if the constructor of the object that logs has started it on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import libcst as cst

from trl_lint.analysis.events import Event, Logged, SideEffect
from trl_lint.analysis.program.idioms.handled_errors import is_caught
from trl_lint.analysis.program.idioms.path_conditions import alternatives, parts_of
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.notes import Notes
from trl_lint.analysis.program.syntax import ancestors, of_class
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes.shared_places import is_passed
from trl_lint.analysis.transfer.processes.wide_conditions import tests_tracker_run
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.kinds import class_name_of, library_name_of
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Value
from trl_lint.knowledge.effects import (
    CURRENT_RUN,
    LOGS_TO_ANY_RUN,
    LOGS_TO_RUN,
    NEED_RUN,
    NEEDS_RUN,
    NO_RUN_ERRORS,
    RUNS,
    START_RUNS_ON_FIRST,
    STARTS_RUN,
    TURN_OFF,
)
from trl_lint.knowledge.lightning import OF_RUN_OF_FIRST, PARTS_OF_RUN, RUN_OF_FIRST
from trl_lint.knowledge.schema import Effect


class Started:
    """The calls that start a tracker's run: on some ranks only, maybe on all of them, or in a library on the first."""

    def __init__(self) -> None:
        self.on_some: set[int] = set()
        self.on_all: set[int] = set()
        self.in_library: set[int] = set()

    def add(self, other: Started) -> None:
        self.on_some |= other.on_some
        self.on_all |= other.on_all
        self.in_library |= other.in_library

    @property
    def is_alone(self) -> bool:
        """Whether one rank has started the only run; with two calls, the others may start one that is turned off."""
        return not self.on_all and len(self.on_some) <= 1 and bool(self.on_some or self.in_library)


class RunsPerRank:
    """The calls that log to a run of this rank's own: all ranks are known to start one correctly."""

    def __init__(self) -> None:
        self.logged_by: frozenset[str] = frozenset()


class OfConstructors:
    """The constructors in a file that start a run on all ranks."""

    def __init__(self) -> None:
        self.starting: set[FunctionInfo] = set()


def note_run_per_rank(frame: Frame, args: Arguments) -> None:
    """All ranks start a run, correctly. If most runs may be turned off, what a run itself logs is that of one rank."""
    may_be_off = any(is_passed(args, each) for each in TURN_OFF)
    for notes in (frame.module.notes, frame.trace.notes):
        notes.of(RunsPerRank).logged_by |= LOGS_TO_RUN if may_be_off else LOGS_TO_ANY_RUN
    frame.engine.note_stored(RunsPerRank, frame.module)


def note_start(frame: Frame, name: str, node: cst.CSTNode) -> None:
    """Called for each function of a library: `wandb.init()`, `accelerator.init_trackers("project")`."""
    if name in START_RUNS_ON_FIRST:
        frame.trace.notes.of(Started).in_library.add(id(node))
    if name != STARTS_RUN:
        return
    by_rank = any(_keeps_out_others(frame, each) for each in frame.memory.control.conditions)
    for notes in (frame.notes, frame.trace.notes, frame.module.notes):
        started = notes.of(Started)
        (started.on_some if by_rank else started.on_all).add(id(node))
    frame.engine.note_stored(Started, frame.module)
    is_on_all = frame.memory.control.uniformity is Uniformity.UNIFORM
    if is_on_all and frame.function is not None and frame.function.name == "__init__":
        frame.function.module.notes.of(OfConstructors).starting.add(frame.function)
        frame.engine.note_stored(OfConstructors, frame.function.module)


def _keeps_out_others(frame: Frame, condition: Control) -> bool:
    """Whether a condition holds on some ranks only. `not args.deepspeed or rank == 0` may hold on all."""
    test = place_of(condition)
    if condition.rank.origins != Origin.RANK or test is None:
        return False
    for part in parts_of(test):
        value = frame.known_value(part)
        if len(alternatives(part)) == 1 and (value is None or value.rank.differs):
            return True
    return False


class RunsOfProgram:
    """The runs of a tracker that a program starts, by what has been noted in its runs and its files."""

    def __init__(self, places: Iterable[Notes], effects: Iterable[SideEffect]) -> None:
        self._per_rank: set[str] = set()
        self._started = Started()
        for notes in places:
            self._per_rank |= notes.of(RunsPerRank).logged_by
            self._started.add(notes.of(Started))
        self._starters = [each.function for each in effects if each.name == STARTS_RUN and not each.without]

    def is_own(self, event: Event) -> bool:
        """Whether each process logs to a run of its own: only the start, if anything, has to be fixed."""
        if not isinstance(event, (Logged, SideEffect)):
            return False
        logged_to = event.sink if isinstance(event, Logged) else event.name
        if logged_to in self._per_rank | event.module.notes.of(RunsPerRank).logged_by:
            return True
        if not isinstance(event, SideEffect) or event.name not in LOGS_TO_RUN:
            return False
        return event.function in self._starters or _is_started_by_own_constructor(event.function)

    def judged(self, event: Event) -> Event:
        """The event, with what comes of it if only the main process has started a run."""
        if not isinstance(event, SideEffect) or event.name not in LOGS_TO_RUN:
            return event
        if self._started.is_alone and not event.module.notes.of(Started).on_all:
            lacking = event.effect._replace(does=NEEDS_RUN.does, consequence=NEEDS_RUN.consequence)
            return replace(event, effect=lacking)
        return event


def _is_started_by_own_constructor(function: FunctionInfo | None) -> bool:
    """Whether the objects that a method belongs to have started a run on all ranks when they were made."""
    constructor = function.cls.find("__init__") if function is not None and function.cls is not None else None
    return constructor is not None and constructor in constructor.module.notes.of(OfConstructors).starting


def is_on_one_rank(frame: Frame, from_library: bool) -> bool:
    """Whether the current run is one of the main process: this function has started it there, or a library does."""
    started = frame.notes.of(Started)
    if started.on_all or started.on_some:
        return started.is_alone
    return from_library and STARTS_RUN not in _called_in(frame)


def use_of_run(frame: Frame, receiver: Value, name: str, node: cst.CSTNode) -> tuple[Effect, str] | None:
    """What an attribute of a run does that only the main process has, with its name; None if it does no harm."""
    if _fills_stand_in(frame, receiver, name, node):
        return OF_RUN_OF_FIRST, f"{class_name_of(receiver)}.{name}"
    owner = name_of(receiver)
    if not owner or not is_on_one_rank(frame, from_library=True) or allows_for_none(frame, node):
        return None
    return NEEDS_RUN, f"{owner}.{name}"


def _fills_stand_in(frame: Frame, receiver: Value, name: str, node: cst.CSTNode) -> bool:
    """Whether it is filled what is a function on the other ranks: `run.summary["x"] = 1`, `run.config.x = 1`."""
    cls, (*_, around) = class_name_of(receiver), (None, *ancestors(frame.root, node))
    if cls == RUN_OF_FIRST and name in PARTS_OF_RUN:
        return isinstance(around, cst.Subscript) and around.value is node
    return cls.startswith(f"{RUN_OF_FIRST}.") and isinstance(around, cst.AssignTarget)


def name_of(value: Value) -> str:
    """The name by which a value is the current run or its configuration; "" if it is neither."""
    if class_name_of(value) in RUNS and value.rank.state is State.UNKNOWN:
        return CURRENT_RUN
    name = library_name_of(value)
    return name if name in NEED_RUN else ""


def allows_for_none(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether the code around a use of the run asks whether there is one, or catches the error."""
    tests = (place_of(each) for each in frame.memory.control.conditions)
    if any(test is not None and tests_tracker_run(frame, test) for test in tests):
        return True
    return is_caught(frame.root, node, NO_RUN_ERRORS) or _is_asked(frame)


def _is_asked(frame: Frame) -> bool:
    """Whether a function asks somewhere, in whatever form, whether there is a run."""
    root, code_of = frame.root, frame.module.tree.code_for_node
    tests = [each.test for each in of_class(root, cst.If)] + [each.test for each in of_class(root, cst.IfExp)]
    tests += [each.test for each in of_class(root, cst.Assert)]
    return any(CURRENT_RUN in code_of(each) for each in (*tests, *of_class(root, cst.BooleanOperation)))


def _called_in(frame: Frame) -> set[str]:
    return {frame.module.tree.code_for_node(each.func) for each in of_class(frame.root, cst.Call)}
