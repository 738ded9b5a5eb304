"""Gradients that are clipped by the norm of the parts that a rank holds of them.

Events of a program with `model = FSDP(net)`:

    clip_grad_norm_(model.parameters(), 1.0)          ShardsClipped
    trained = [p for p in model.parameters() if p.requires_grad]
    clip_grad_norm_(trained, 1.0)                     ShardsClipped, with whole=False
    clip_grad_value_(model.parameters(), 1.0)         none: it needs no norm
    model.clip_grad_norm_(1.0)                        none: the wrapper adds up the norms of all ranks
    if isinstance(model, FSDP):
        model.clip_grad_norm_(1.0)
    else:
        clip_grad_norm_(model.parameters(), 1.0)      none: it is for other wrappers

A function that clips is for other wrappers, too, if one of its callers chooses it in this way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.gradient_events import ShardsClipped
from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.syntax import (
    ancestors,
    assigned_once,
    identifiers,
    inwards,
    last_name,
    names_in,
    of_class,
)
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.model_roles import is_sharded
from trl_lint.knowledge.heuristics import NAMES_ENGINE
from trl_lint.knowledge.torch import CLIPPED, CLIPPING_MODULES, CLIPS_BY_NORM, GIVES_PARAMETERS, OWN_CLIP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trl_lint.analysis.events import Event
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import CalleeRun

# Functions that pass on what their last argument yields, or a part of it.
_PASS_ON = frozenset({"filter", "iter", "list", "tuple"})
# Functions that ask what a model is, or has.
_ASK = frozenset({"hasattr", "isinstance", "issubclass", "type"})


class Parameters(NamedTuple):
    """The parameters of the model that an expression (`owner`) gives: the whole of them, or some."""

    owner: cst.BaseExpression
    whole: bool = True


class Clips:
    """The functions by which a run clips parts of gradients."""

    def __init__(self) -> None:
        self.functions: set[FunctionInfo] = set()


class ForOthers:
    """The functions of a module that some caller runs for models that FSDP does not wrap."""

    def __init__(self) -> None:
        self.functions: set[FunctionInfo] = set()


class ShardedNorms(Observer["Frame"]):
    emits = frozenset({ShardsClipped})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name not in CLIPS_BY_NORM or not isinstance(node, cst.Call) or is_test(frame.function):
            return
        passed = args.node(*CLIPPED)
        found = None if passed is None else _parameters(frame, passed.value)
        if found is None or frame.memory.control.parameters_gathered:
            return
        model = frame.value_of(found.owner)
        if is_sharded(model) and not _is_for_others(frame, node, found.owner):
            frame.emit(ShardsClipped, node, model=model, owner=found.owner, whole=found.whole)
            if frame.function is not None:
                frame.trace.notes.of(Clips).functions.add(frame.function)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        clips = run.trace.notes.of(Clips).functions
        if not clips or run.trace is frame.trace:
            return
        if not _is_alternative(frame, node):
            frame.trace.notes.of(Clips).functions.update(clips)
            return
        for each in clips:
            each.module.notes.of(ForOthers).functions.add(each)
            frame.engine.note_stored(ForOthers, each)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Remove the calls in functions that are chosen for other wrappers."""
        return [each for each in events if not (isinstance(each, ShardsClipped) and _is_chosen(each))]


def _parameters(frame: Frame, node: cst.BaseExpression, depth: int = 4) -> Parameters | None:
    """The model whose parameters an expression yields, as far as this function says it."""
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))) if name in GIVES_PARAMETERS:
            return Parameters(owner)
        case cst.Call(func=cst.Name(name), args=[*_, last]) if name in _PASS_ON and depth:
            found = _parameters(frame, last.value, depth - 1)
            return found if found is None or name != "filter" else Parameters(found.owner, whole=False)
        case cst.ListComp(for_in=loop) | cst.GeneratorExp(for_in=loop) if depth and loop.inner_for_in is None:
            found = _parameters(frame, loop.iter, depth - 1)
            return None if found is None else Parameters(found.owner, found.whole and not loop.ifs)
        case cst.Name(name) if depth and (value := assigned_once(frame.root, name)) is not None:
            return _parameters(frame, value, depth - 1)
    return None


def _is_chosen(event: ShardsClipped) -> bool:
    return event.function is not None and event.function in event.module.notes.of(ForOthers).functions


def _is_for_others(frame: Frame, node: cst.Call, owner: cst.BaseExpression) -> bool:
    """Whether a call may be for models that FSDP does not wrap: the function has one of the wrapper's own method too,
    or asks what wraps the model (`owner`).
    """
    names = names_in(owner) - {"self"}
    if any(_is_own_clip(each, names) for each in of_class(frame.root, cst.Call)) or _names_own_clip(frame.root):
        return True
    tests = [each.test for each in ancestors(frame.root, node) if isinstance(each, (cst.If, cst.IfExp))]
    tests += [each.test for each in exits_before(frame.root, node)]
    return any(_asks_for_wrapper(each) for each in tests)


def _is_alternative(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether a call of a function that clips is the alternative to a call of a wrapper's own method, or to what is
    done if a test finds a wrapper.
    """
    if any(_is_own_clip(each, None) for each in of_class(frame.root, cst.Call)):
        return True
    for outer, inner in inwards(frame.root, call):
        if isinstance(outer, cst.If) and _asks_for_wrapper(outer.test):
            is_negated = isinstance(outer.test, cst.UnaryOperation)
            if is_negated is (inner is outer.body):
                return True
    return False


def _is_own_clip(call: cst.Call, names: set[str] | None) -> bool:
    """Whether a call is that of a method of the model, or of any object: `model.clip_grad_norm_(1.0)`."""
    match call.func:
        case cst.Attribute(value=owner, attr=cst.Name(name)) if name == OWN_CLIP:
            of_object = last_name(owner) not in CLIPPING_MODULES
            return of_object if names is None else not names.isdisjoint(names_in(owner))
    return False


def _names_own_clip(root: cst.CSTNode) -> bool:
    """Whether a function asks for the method by its name: `getattr(model, "clip_grad_norm_", None)`."""
    return any(OWN_CLIP in each.value for each in of_class(root, cst.SimpleString))


def _asks_for_wrapper(test: cst.BaseExpression) -> bool:
    return any(NAMES_ENGINE.fits(each) or each in _ASK for each in identifiers(test))


OBSERVER = ShardedNorms()
