"""Side effects: calls that change what all ranks share, reported where every rank is known to make them.

Events of a program:

    wandb.init(project="trl")             SideEffect(name="wandb.init")
    model.save_pretrained("out")          SideEffect(name="save_pretrained"), as `model` is not wrapped
    tokenizer.save_pretrained("out")      SideEffect(name="save_pretrained")
    open("log.txt", "w")                  SideEffect(name="open")
    os.system("rm -rf out")               SideEffect(name="rm")
    if accelerator.is_main_process:
        wandb.init(project="trl")         none: only one rank reaches it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import Event, Logged, SideEffect
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.idioms.handled_errors import expects_second_try
from trl_lint.analysis.program.idioms.makers import maker_of
from trl_lint.analysis.program.idioms.option_defaults import is_off
from trl_lint.analysis.program.idioms.path_endings import ending
from trl_lint.analysis.program.idioms.removed_before import is_removed_before
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import last_name, of_class
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.callees import library_function_of
from trl_lint.analysis.state.event_trace import EventTrace, called_traces
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import Branch, CalleeRun, Observer, Reached
from trl_lint.analysis.state.point_sequences import on_way_to
from trl_lint.analysis.transfer.data.places_of_shares import is_of_own_rows
from trl_lint.analysis.transfer.processes import (
    before_fits,
    before_group,
    done_before,
    first_rank,
    listed_in_turn,
    made_on_some,
    main_process_tests,
    one_process_branches,
    prepared_files,
    returned_to_first,
    shell_calls,
    tracker_runs,
    unset_options,
    wide_conditions,
)
from trl_lint.analysis.transfer.processes.shared_places import is_the_same, makes_correct
from trl_lint.analysis.transfer.processes.tracker_runs import RunsOfProgram
from trl_lint.domain import ranks
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.kinds import LoadedFiles, PathValue, class_name_of
from trl_lint.domain.provenance import NameOnSomeWay, OneByOne, RankLocalFile, source_step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import control_after, place_of
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge.effects import (
    ADD_ROWS,
    APPENDED,
    ASKS_FOR_RUN,
    CALLED_ON_CLASS,
    DUMPS,
    DUMPS_SETTINGS,
    MAKE_DUMPED,
    MAKE_SCRIPTS,
    METHODS,
    MODES,
    NEEDS_RUN,
    OF_LOADED,
    OF_MODELS,
    OF_NAMED,
    OF_PATHS,
    OF_TRACKER,
    ONLY_PATHS_HAVE,
    OPENED,
    OPENERS,
    RUN_OF_TRACKER,
    SAVES,
    SAVES_PICTURE,
    SAVES_SCRIPT,
    STARTS_RUN,
    WRITES,
)
from trl_lint.knowledge.heuristics import PICTURE_FILE, SAVED_TOKENIZER
from trl_lint.knowledge.lightning import is_module
from trl_lint.knowledge.schema import LOADED, Class, Effect, Hook, Row
from trl_lint.knowledge.shell_commands import RUN_LINES, RUN_WORDS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module


class Making(done_before.RepeatableWork):
    """The work of a run that makes files if they are missing: if some ranks have done it before, the others find them.

    For example, after `if rank == 0: build(path)` and a barrier, in `build(path)`.
    """


class SideEffects(Observer["Frame"]):
    emits = frozenset({SideEffect})
    # To know whether each process logs to its own run.
    needed_by = frozenset({Logged})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        last = name.rpartition(".")[2]
        if name in OPENERS:
            _opened(frame, name, args, node)
        elif name in RUN_LINES or name in RUN_WORDS:
            _on_command(frame, name, args, node)
        elif last in CALLED_ON_CLASS:
            _emit(frame, METHODS[last], last, args, node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        tracker_runs.note_start(frame, name, node)
        if row is not None and receiver is not None:
            _on_run(frame, receiver, row.name.rpartition(".")[2], node)
        if row is not None and row.effect is not None and not _delegates(frame, row):
            last = name.rpartition(".")[2] if isinstance(row, (Class, Hook)) else name
            _emit(frame, row.effect, last, args, node)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        """A method of a model that is not wrapped, of an object loaded with it, or one recognised by its name."""
        before_fits.note(frame, receiver, name, node)
        is_bare = receiver.kind is Kind.MODEL and receiver.wrapping is not None and receiver.wrapping.is_bare
        if _is_path(receiver, name):
            _on_path(frame, receiver, name, args, node)
            return
        if class_name_of(receiver) == RUN_OF_TRACKER:
            _emit(frame, OF_TRACKER, name, args, node)
        is_loaded = isinstance(receiver, LoadedFiles) or _inherits_saving(receiver, name)
        effects = OF_MODELS if is_bare else OF_LOADED if is_loaded else METHODS
        effect = _of_added_rows(name, args) or effects.get(name)
        effect = effect or (SAVES_PICTURE if _saves_picture(frame, receiver, name, args) else None)
        effect = effect or (SAVES_SCRIPT if name == SAVES and _is_scripted(frame, node) else None)
        effect = effect or (DUMPS_SETTINGS if name == DUMPS and _is_dumped(frame, node) else None)
        effect = effect or (OF_NAMED.get(name) if _is_tokenizer_by_name(receiver, node) else None)
        effect = effect or (OF_MODELS[name] if name in OF_MODELS and _is_in_module(frame, receiver, node) else None)
        is_in_sight = receiver.kind is Kind.INSTANCE and not class_name_of(receiver) and not is_loaded
        if effect is not None and not is_in_sight:
            _emit(frame, effect, name, args, node)

    def on_attribute(self, frame: Frame, receiver: Value, name: str, node: cst.CSTNode) -> None:
        """An attribute of a tracker's run, which a library starts on the main process only."""
        if class_name_of(receiver) == RUN_OF_TRACKER:
            _emit(frame, OF_TRACKER, name, Arguments(), node)
        _on_run(frame, receiver, name, node)

    def on_branch(self, frame: Frame, branch: Branch) -> None:
        main_process_tests.note(frame, branch.test)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        prepared_files.note(frame, run.trace)
        done_before.note_call(frame, Making, run, function, node, waits=True)

    def on_reached(self, event: Event, reached: Reached) -> Event | None:
        """Keep it if each process is known to reach it: in code that is launched, and in its callees."""
        if not reached.launched or not isinstance(event, SideEffect):
            return event if reached.launched else None
        if event.is_done() or (event.if_called_back and not reached.called_back):
            return None
        called = event.called.preceded_by(reached.called) if event.called is not None else reached.called
        return replace(event, called=called, called_back=reached.called_back)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """If each process starts its own run, it logs to that run: only the start, if anything, has to be fixed."""
        effects = [each for each in events if isinstance(each, SideEffect)]
        places = [each.notes for each in called_traces(program)] + [each.notes for each in imported]
        runs = RunsOfProgram(places, effects)
        done = (each for each in events if not (runs.is_own(each) or prepared_files.are_made(each)))
        named_otherwise = {id(each.node) for each in effects if not each.by_clock}
        early = before_fits.nodes_of(program)
        done = (_as_early(each) if id(each.node) in early else each for each in done if made_on_some.is_by_all(each))
        done = (_without_clock(each) if id(each.node) in named_otherwise else each for each in done)
        return [runs.judged(each) for each in done]


def _on_run(frame: Frame, receiver: Value, name: str, node: cst.CSTNode) -> None:
    """What is read, set or called of a tracker's run that only the main process has: `wandb.run.log(…)`."""
    if (used := tracker_runs.use_of_run(frame, receiver, name, node)) is not None:
        _emit(frame, *used, Arguments(), node)


def _without_clock(event: Event) -> Event:
    """An effect on something that has a name without the time in it, in a run of the function for another caller."""
    return replace(event, by_clock=False) if isinstance(event, SideEffect) and event.by_clock else event


def _as_early(event: Event) -> Event:
    """An effect that one process has before the others are started, which then find that it is done."""
    return replace(event, early=True) if isinstance(event, SideEffect) and before_fits.is_first(event) else event


def _delegates(frame: Frame, row: Row) -> bool:
    """Whether an override just delegates: `super()._save(folder)` in `_save`, whose callers decide who saves."""
    last = row.name.rpartition(".")[2]
    return isinstance(row, Hook) and frame.function is not None and frame.function.name == last


def _is_path(receiver: Value, name: str) -> bool:
    """Whether a method is that of a path: the receiver is known to be one, or only paths have such a method."""
    return isinstance(receiver, PathValue) or (name in ONLY_PATHS_HAVE and receiver.kind in (Kind.UNKNOWN, Kind.TENSOR))


def _saves_picture(frame: Frame, receiver: Value, name: str, args: Arguments) -> bool:
    """Whether a `save` of an unknown object is that of a picture, by the name of the file."""
    if name != SAVES or receiver.kind is not Kind.UNKNOWN:
        return False
    return PICTURE_FILE.fits(ending(frame.root, args.expression(0)))


def _inherits_saving(receiver: Value, name: str) -> bool:
    """Whether an object of the project's own tokenizer, processor or config has a method from the library's class."""
    if not isinstance(receiver, ProjectInstance) or receiver.cls.find(name) is not None:
        return False
    return any(library.constructor(base) is LOADED for base in receiver.library_bases())


def _is_tokenizer_by_name(receiver: Value, node: cst.CSTNode) -> bool:
    """Whether a method is called on an unknown object that is named like a tokenizer."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or receiver.kind is not Kind.UNKNOWN:
        return False
    return not receiver.rank.differs and SAVED_TOKENIZER.fits(last_name(node.func.value))


def _is_in_module(frame: Frame, receiver: Value, node: cst.CSTNode) -> bool:
    """Whether a method is called on an unknown part of a module that Lightning hands on and wraps as a whole.

    For example, `pl_module.model.save_pretrained(path)`
    """
    part = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
    while isinstance(part, cst.Attribute) and receiver.kind is Kind.UNKNOWN and not receiver.rank.differs:
        part = part.value
        if is_module((class_name_of(frame.known_value(part)),)):
            return True
    return False


def _is_scripted(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a method is called on what TorchScript has made: `net = torch.jit.script(model)`, `net.save(path)`."""
    made = maker_of(frame.root, node)
    return isinstance(made, cst.Attribute) and made.attr.value in MAKE_SCRIPTS and last_name(made.value) == "jit"


def _is_dumped(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a method is called on settings that write themselves: `cfg = Config.fromfile(path)`, `cfg.dump(path)`."""
    return library.canonical(library_function_of(frame, maker_of(frame.root, node))) in MAKE_DUMPED


def _on_path(frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
    effect = _of_mode(args.get(0, "mode")) if name == "open" else OF_PATHS.get(name)
    if effect is not None:
        _emit(frame, effect, name, args, node, receiver)


def _opened(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    effect = _of_mode(args.get(1, MODES.get(name, "mode")))
    if name == "builtins.open":
        if effect is not None:
            _emit(frame, effect, "open", args, node)
    elif effect is OPENED:
        _emit(frame, effect._replace(path=OPENERS[name]), name, args, node)


def _on_command(frame: Frame, function: str, args: Arguments, node: cst.CSTNode) -> None:
    change = shell_calls.change_by(frame, function, args)
    if change is not None:
        _emit(frame, change.effect, change.name, args, node, change.place)


def _of_mode(mode: Value | None) -> Effect | None:
    """The effect of opening a file in a mode, if any."""
    return WRITES.get(mode.const[:1]) if mode is not None and isinstance(mode.const, str) else None


def _of_added_rows(name: str, args: Arguments) -> Effect | None:
    """The effect of a method by which a table adds its rows to what is in a file: `to_csv(path, mode="a")`."""
    return ADD_ROWS.get(name) if _of_mode(args.keywords.get("mode")) is APPENDED else None


def _emit(
    frame: Frame, effect: Effect, name: str, args: Arguments, node: cst.CSTNode, place: Value | None = None
) -> None:
    """Emit an event for an effect, unless it is a different one on each rank. place: the path itself, if known."""
    on_disk = place is not None or effect.path is not None
    if not _is_everywhere(frame, effect, on_disk, node) or (effect.fails and expects_second_try(frame.root, node)):
        return
    if effect.makes and is_removed_before(frame.root, node):
        return
    if one_process_branches.is_beside_ranks(frame, node) or returned_to_first.is_asked_for(frame, node):
        return
    path = place if place is not None or effect.path is None else args.get(*effect.path)
    unset = _unset_option(frame, effect, args)
    allowed = any(makes_correct(frame, args, keyword) for keyword in effect.unless) and not unset
    is_right = allowed or not is_the_same(effect, args, path) or listed_in_turn.leaves_none(frame, effect, path)
    conditions = frame.memory.control.conditions
    without = frozenset(unset_options.part_without_option(each)[1] for each in conditions) - {""}
    if is_right and name == STARTS_RUN and not without:
        tracker_runs.note_run_per_rank(frame, args)
    if is_right or args.double is not None or not _takes_effect(frame, effect, args):
        return
    frame.emit(
        SideEffect,
        node,
        name=name.removeprefix("trl.trainer.utils."),
        effect=effect,
        accelerator=frame.accelerator(),
        trainer=_trainer(frame),
        by_clock=path is not None and _is_named_by_clock(path),
        where=next((part for each in conditions if (part := _required_condition(frame, each, node))), unset),
        looked=effect.makes and any(each.rank.origins == Origin.IO for each in conditions),
        if_called_back=_is_right_without_library(frame, effect, name),
        without=without,
        has_run=any(_tests_run(frame, each) for each in conditions),
        is_done=_making(frame),
        called=before_group.start_after_condition(frame, node),
    )


def _is_right_without_library(frame: Frame, effect: Effect, name: str) -> bool:
    """Whether it needs a run, and only a library would start that on one rank."""
    in_library = _gets_run_from_library(frame)
    if effect is NEEDS_RUN:
        return not tracker_runs.is_on_one_rank(frame, in_library)
    return name in ASKS_FOR_RUN and not in_library


def _unset_option(frame: Frame, effect: Effect, args: Arguments) -> str:
    """The condition under which all ranks but the first fail, as an option that is off allows it: `not args.again`."""
    allowing = (args.expression(each) for each in effect.unless if isinstance(each, str) and effect.fails)
    asked = next((each for each in allowing if is_off(frame.module, each)), None)
    if asked is None:
        return ""
    code = frame.module.tree.code_for_node(asked)
    return code.replace(" is not ", " is ") if isinstance(asked, cst.Comparison) else f"not {code}"


def _making(frame: Frame) -> Callable[[], bool]:
    """The test whether some ranks have made what the others may make here, now that all runs are known."""
    if not any(each.rank.origins == Origin.IO for each in frame.memory.control.conditions):
        return lambda: False
    work = frame.trace.notes.of(Making)
    work.is_done = True
    return work.only_repeats


def _is_named_by_clock(path: Value) -> bool:
    """Whether a name has the time in it, on all ways that lead here."""
    is_on_some_way = isinstance(source_step(path.provenance), NameOnSomeWay)
    return path.rank.differs and Origin.CLOCK in path.rank.origins and not is_on_some_way


def _trainer(frame: Frame) -> str:
    """The expression for the Trainer that has the Accelerator here; "" if it is no Trainer's."""
    owner, _, attribute = frame.accelerator().rpartition(".")
    scope: Frame | None = frame if attribute == "accelerator" else None
    while scope is not None and owner not in scope.memory.names:
        scope = scope.outer
    value = None if scope is None else scope.memory.names[owner]
    bases = value.cls.library_bases() if isinstance(value, ProjectInstance) else ()
    return owner if any(library.is_subclass(base, "transformers.Trainer") for base in bases) else ""


def _required_condition(frame: Frame, condition: Control, node: cst.CSTNode) -> str:
    """The condition that a rank needs for the effect, if its result is not the same on all of them."""
    is_of_rank_data = wide_conditions.is_of_rank_local_data(condition)
    return (
        wide_conditions.code_of_condition(condition, node)
        if is_of_rank_data
        else wide_conditions.part_for_all_ranks(frame, condition) or unset_options.part_without_option(condition)[0]
    )


def _takes_effect(frame: Frame, effect: Effect, args: Arguments) -> bool:
    """Whether a call does what it may do: it is told to, finds that nobody has done so, and something to change."""
    if effect.left_by and not frame.module.project_mentions(effect.left_by):
        return False
    argument = args.keywords.get(effect.given)
    is_relevant = not effect.given or (argument is not None and argument.const is True)
    return is_relevant and not (effect.looks and frame.memory.control.first_rank is not None)


def _is_everywhere(frame: Frame, effect: Effect, on_disk: bool, node: cst.CSTNode) -> bool:
    """Whether all ranks get here, apart from conditions on a tracker, or on files that they may all find.

    on_disk: the effect changes files. What a tracker logs after a gather is for one rank to log.
    """
    control = frame.memory.control
    if control.others_failed or (on_disk and _is_locked(control, effect)):
        return False
    if on_disk and control.uniformity is not Uniformity.UNIFORM:
        points = on_way_to(frame.root, frame.sync_points, node)
        control = control_after(control, (*frame.engine.earlier_points, *points))
    return all(
        _lets_all_ranks_in(frame, each, effect, on_disk)
        or wide_conditions.exits_for_other_reasons(each, control, node)
        or wide_conditions.is_done_either_way(each, effect, node)
        for each in control.conditions
    )


def _is_locked(control: Control, effect: Effect) -> bool:
    """Whether ranks do it one at a time, as each holds the lock of a file, and can do it more than once."""
    is_held = control.first_rank is not None and control.first_rank.scope == first_rank.LOCK
    return is_held and not (effect.fails or effect.in_turn)


def _lets_all_ranks_in(frame: Frame, condition: Control, effect: Effect, on_disk: bool) -> bool:
    if isinstance(condition.provenance, OneByOne):
        return effect.fails or effect.in_turn  # the ranks that come later do what has been done
    if wide_conditions.part_for_all_ranks(frame, condition) or wide_conditions.is_no_guard(condition):
        return True
    if any(unset_options.part_without_option(condition)) or (on_disk and is_of_own_rows(frame, condition)):
        return True  # a run of a tracker for each row is one for each trial
    if wide_conditions.depends_on_progress(frame, condition) or wide_conditions.is_of_rank_local_data(condition):
        return True
    if not effect.fails and wide_conditions.is_tried(condition):
        return True
    if condition.uniformity is Uniformity.UNKNOWN:
        return condition.rank == ranks.SETTING or (_gets_run_from_library(frame) and _tests_run(frame, condition))
    if condition.rank.origins != Origin.IO or frame.memory.control.first_rank is not None:
        return False
    if not effect.fails and not of_class(place_of(condition) or cst.Pass(), cst.Call):
        return False  # a result from before: one rank may have created the missing files since
    # Ranks that test at the same moment all find what the first of them is about to change.
    return not isinstance(source_step(condition.provenance), RankLocalFile)


def _tests_run(frame: Frame, condition: Control) -> bool:
    test = condition.provenance and condition.provenance.node
    return test is not None and wide_conditions.tests_tracker_run(frame, test)


def _gets_run_from_library(frame: Frame) -> bool:
    """Whether a library starts the tracker's run: other code starts it itself, on the rank that logs."""
    return bool(frame.accelerator() or (frame.cls is not None and frame.cls.library_bases()))


OBSERVER = SideEffects()
