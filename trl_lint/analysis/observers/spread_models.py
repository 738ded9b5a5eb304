"""Models whose layers are spread over all GPUs of a process, where something wraps them for several processes.

Events of a program:

    model = AutoModel.from_pretrained(name, device_map="auto")
    trainer = Trainer(model, args)       SpreadModelTrained
    model = accelerator.prepare(model)   SpreadModelTrained

None if an option for the number of GPUs chooses the device map, and the launches do not give it so.

A Trainer wraps no such model. If the objects of its class get no other, their hooks ask the bare model:

    def compute_loss(self, model, inputs): model.device
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import AttributeAsked, AttributeRead, Event, PassedToPipeline, SpreadModelTrained
from trl_lint.analysis.program.definitions.objects import ClassValue
from trl_lint.analysis.program.idioms.chosen_by_option import are_met, option_tests
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.model_roles import is_spread, is_trained
from trl_lint.domain.values import UNKNOWN
from trl_lint.knowledge import library
from trl_lint.knowledge.backends import ALLOWS_SPREAD
from trl_lint.knowledge.schema import Function, Transfer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row


_OF_WRAPPERS = (AttributeAsked, AttributeRead, PassedToPipeline)


class GivenToTrainers:
    """The models that the objects of a class of Trainers get: whether one is spread, and whether one may not be."""

    def __init__(self) -> None:
        self.spread = False
        self.others = False


class SpreadModels(Observer["Frame"]):
    emits = frozenset({SpreadModelTrained})
    needed_by = frozenset(_OF_WRAPPERS)

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        if base and library.is_subclass(base, "transformers.Trainer", frame.engine.versions):
            model = args.get(0, "model")
            _note_given(frame, model, node)
            _emit(frame, model, "a Trainer", node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if isinstance(row, Function) and row.returns == Transfer.PREPARED:
            for value in args.positional:
                _emit(frame, value, f"`{name.rpartition('.')[2]}`", node)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        return [each for each in events if not _is_of_bare_model(each) and not _is_not_spread_there(each)]


def _note_given(frame: Frame, model: Value | None, node: cst.CSTNode) -> None:
    made = frame.engine.evaluate(frame, node.func) if isinstance(node, cst.Call) else UNKNOWN
    for cls in made.cls.project_lineage() if isinstance(made, ClassValue) else ():
        given = cls.notes.of(GivenToTrainers)
        given.spread |= model is not None and is_spread(model)
        given.others |= model is None or not is_spread(model)
        frame.engine.note_stored(GivenToTrainers, cls, given.spread, given.others)


def _is_of_bare_model(event: Event) -> bool:
    """Whether a hook of a Trainer asks its own model, and all objects of the class have one that is not wrapped."""
    cls = event.function.cls if event.function is not None else None
    if not isinstance(event, _OF_WRAPPERS) or cls is None or not is_trained(event.model):
        return False
    given = cls.notes.of(GivenToTrainers)
    return given.spread and not given.others


def _is_not_spread_there(event: Event) -> bool:
    """Whether an option decides that a model is spread, and not all launches of several processes give it so."""
    load = event.model.provenance if isinstance(event, SpreadModelTrained) else None
    tests = option_tests(load.module, load.node) if load is not None and isinstance(load.module, Module) else ()
    return bool(tests) and not are_met(tests, event.module.engines().given_options)


def _emit(frame: Frame, model: Value | None, receiver: str, node: cst.CSTNode) -> None:
    if model is not None and is_spread(model) and not frame.module.mentions(ALLOWS_SPREAD):
        frame.emit(SpreadModelTrained, node, model=model, receiver=receiver)


OBSERVER = SpreadModels()
