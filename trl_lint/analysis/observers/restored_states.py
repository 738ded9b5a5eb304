"""Weights that a program reads from a file to which it has saved those of a model with other names.

Events of a script, on several processes, in which both loads are before `model = DDP(model)`:

    model.load_state_dict(torch.load("a.pt")["model"])        StateLoaded
    torch.save({"model": model.state_dict()}, "a.pt")

    model.load_state_dict(torch.load("b.pt")["inner"])        none: these are those of the bare model
    torch.save({"inner": model.module.state_dict()}, "b.pt")

A file is one that the program saves if the words that say where it is are the same, if the program resumes from it, or
if it takes several parts with the same keys out of it: `state["model"]`, `state["optimizer"]` and `state["epoch"]`.
All that is saved in the source file under the same keys has to be of the same kind: with the prefix, or without it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.checkpoint_events import StateLoaded
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.read_files import ReadPart, keys_taken, plain, read_part, words_of
from trl_lint.analysis.program.project.passed_arguments import parameter_for
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.analysis.state.callees import library_function_of
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.models.fitting_names import allows_for_both, have_other_names, taken_at
from trl_lint.analysis.transfer.models.named_weights import named_model, wrapping_of_weights
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.provenance import Step
from trl_lint.domain.state_dicts import StateDict, StateTaken
from trl_lint.domain.values import WRAPPED_ON_SOME_WAY, Value, Wrapping
from trl_lint.knowledge.heuristics import RESUMES
from trl_lint.knowledge.torch import READS_WEIGHTS, SAVES_WEIGHTS, STRICT, STRIPS_PREFIX, TAKES_WEIGHTS, WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from trl_lint.analysis.events import Event
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import CalleeRun
    from trl_lint.knowledge.schema import Row

# How deep the dicts are nested that are saved.
_DEEPEST = 2
# Of how many parts the keys have to be the same: `model`, `optimizer` and `epoch` are those of a run that goes on.
_PARTS_OF_FORM = 3


class Saved(NamedTuple):
    """A state dict that is saved: under which keys of the file, where, and the words that say where the file is.

    is_open: whether a caller may say where the file is. beside: the keys of all that is saved in the file.
    """

    keys: tuple[str, ...]
    state: StateDict
    at: Step
    words: frozenset[str]
    is_open: bool
    beside: frozenset[str] = frozenset()

    @property
    def has_prefix(self) -> bool:
        return self.state.owner in WRAPPED_ON_SOME_WAY


class SavedStates:
    """What a file of the project, or a run, saves."""

    def __init__(self) -> None:
        self.saved: dict[Hashable, Saved] = {}


class RestoredStates(Observer["Frame"]):
    emits = frozenset({StateLoaded})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        _note_saved(frame, name, args, node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if receiver is not None:
            _note_saved(frame, name, args, node)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        saved = run.trace.notes.of(SavedStates).saved
        if not saved or run.trace is frame.trace or not isinstance(node, cst.Call):
            return
        names = {each.name for each in function.parameters}
        for each in list(saved.values()):
            words = _passed_words(frame, function, node, each)
            is_passed = each.is_open or not names.isdisjoint(map(plain, each.words))
            if is_passed and words:
                _note(frame, node, each._replace(words=each.words | words, is_open=False))

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name == TAKES_WEIGHTS and not isinstance(receiver, StateDict):
            _check(frame, receiver, args, node)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Complete the loads from files that are known to be saved in the same source file, and remove the others."""
        completed = (_completed(each) if isinstance(each, StateLoaded) else each for each in events)
        return [each for each in completed if each is not None]


def _scopes(frame: Frame, node: cst.CSTNode) -> list[cst.CSTNode]:
    """The function around a node, those around that, and the module."""
    around = definitions_around(frame.module.tree, node)
    return [*(each for each in reversed(around) if isinstance(each, cst.FunctionDef)), frame.module.tree]


# --- what is saved --------------------------------------------------------------------------------------


def _note_saved(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    """Note the state dicts that a call saves, if it is one of a function, or a method, that saves."""
    parameters = SAVES_WEIGHTS.get(name)
    value = None if parameters is None else args.get(*parameters[0])
    if parameters is None or value is None or is_test(frame.function):
        return
    place, parameter = parameters[1]
    path = args.expression(parameter) or args.expression(place)
    words = frozenset[str]() if path is None else words_of(_scopes(frame, node), path)
    cells = frame.memory.cells(value)
    beside = frozenset(key for key in cells[0].entries if isinstance(key, str)) if len(cells) == 1 else frozenset[str]()
    for keys, state in _states_in(frame, value):
        _note(frame, node, Saved(keys, state, frame.step(node, "it is saved here"), words, path is None, beside))


def _states_in(frame: Frame, value: Value, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], StateDict]]:
    """The state dicts in a value, each with its keys."""
    if isinstance(value, StateDict):
        yield keys, value
    elif isinstance(value, ContainerValue) and len(keys) < _DEEPEST:
        for cell in frame.memory.cells(value):
            for key, item in cell.entries.items():
                if isinstance(key, str):
                    yield from _states_in(frame, item, (*keys, key))


def _passed_words(frame: Frame, function: FunctionInfo, call: cst.Call, saved: Saved) -> frozenset[str]:
    """The words in the arguments by which a call may say where a function saves something."""
    found: set[str] = set()
    for arg in call.args:
        parameter = parameter_for(function, call, arg)
        if saved.is_open if parameter is None else parameter.name in map(plain, saved.words):
            found |= words_of(_scopes(frame, call), arg.value)
    return frozenset(found)


def _note(frame: Frame, node: cst.CSTNode, saved: Saved) -> None:
    taken = taken_at(saved.state)
    if taken is None:
        return
    key = (id(node), saved.keys, id(taken.node), saved.state.owner)
    frame.trace.notes.of(SavedStates).saved[key] = saved
    frame.module.notes.of(SavedStates).saved[key] = saved
    frame.engine.note_stored(SavedStates, frame.module, key)


# --- what is loaded -------------------------------------------------------------------------------------


def _check(frame: Frame, receiver: Value, args: Arguments, node: cst.CSTNode) -> None:
    argument = args.node(*WEIGHTS)
    if argument is None or not isinstance(node, cst.Call) or is_test(frame.function):
        return
    read = read_part(_scopes(frame, node), argument.value, partial(_reads, frame))
    if read is None or not read.words or frame.module.mentions(STRIPS_PREFIX):
        return
    model = named_model(frame, receiver, node)
    if wrapping_of_weights(model) is Wrapping.UNKNOWN:
        return
    strict = args.get(*STRICT)
    taken = StateTaken(frame.module, read.call, "the file is read here", by_code=False)
    frame.emit(
        StateLoaded,
        node,
        model=model,
        state=StateDict(provenance=taken),
        argument=argument,
        taken=taken,
        strict=strict is None or strict.const is not False,
        read=read,
        accelerator=frame.accelerator(),
    )


def _reads(frame: Frame, call: cst.Call) -> bool:
    return library_function_of(frame, call.func) in READS_WEIGHTS


def _completed(event: StateLoaded) -> StateLoaded | None:
    """A load with what is known of the file that is read; None if it is not known, or if the names fit."""
    if event.read is None:
        return event
    root = event.module.tree if event.function is None else event.function.node
    saved = _saved_for(event.module, event.read, keys_taken(root, event.read.call))
    if saved is None or not have_other_names(root, event.function, event.node, event.model, saved.state):
        return None
    taken = taken_at(saved.state)
    if taken is None or allows_for_both(root, event.node, taken):
        return None
    state = saved.state.replace(provenance=saved.at.preceded_by(saved.state.provenance))
    return replace(event, state=state, taken=taken)


def _saved_for(module: Module, read: ReadPart, taken: frozenset[str]) -> Saved | None:
    """What is saved to the file of which a part is read; None if it is not known. taken: the keys of all parts."""
    alike = [each for each in module.notes.of(SavedStates).saved.values() if each.keys == read.keys]
    if len({each.has_prefix for each in alike}) != 1:
        return None
    places = [each for each in alike if _is_same_file(each, read) or _has_same_parts(each, taken)]
    return places[0] if places else None


def _is_same_file(saved: Saved, read: ReadPart) -> bool:
    if any(RESUMES.fits(plain(each)) for each in read.words):
        return True
    return saved.words == read.words if not read.keys else not saved.words.isdisjoint(read.words)


def _has_same_parts(saved: Saved, taken: frozenset[str]) -> bool:
    """Whether a file, wherever it is, has the form of one that is saved: by the keys of several of its parts."""
    return len(taken) >= _PARTS_OF_FORM and taken <= saved.beside


OBSERVER = RestoredStates()
