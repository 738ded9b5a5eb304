"""State dicts that are loaded into a model whose weights have other names: those of a wrapper begin with `module.`.

Events of a program with `model = DDP(net)`:

    model.module.load_state_dict(model.state_dict())     StateLoaded
    model.load_state_dict(model.module.state_dict())     StateLoaded
    model.load_state_dict(model.state_dict())            none: both are those of the wrapper
    state = {k.removeprefix("module."): x for k, x in model.state_dict().items()}
    net.load_state_dict(state)                           none: nothing is known of such a dict
    state = model.state_dict()
    rename(state)
    net.load_state_dict(state)                           none: something unknown gets it, and may rename its entries

With `if ddp: model = DDP(net)`, on several processes:

    best = model.state_dict()
    if ddp:
        model.module.load_state_dict(best)               StateLoaded
    else:
        model.load_state_dict(best)                      none: both are bare here
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import libcst as cst

from trl_lint.analysis.checkpoint_events import StateLoaded
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.handled_errors import is_caught
from trl_lint.analysis.program.syntax import ancestors, definitions_around, last_name, of_class
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.domains.state_dict_facts import copied_by
from trl_lint.analysis.transfer.models import wrapped_models
from trl_lint.analysis.transfer.models.named_weights import asks_for_wrapper, named_model, wrapping_of_weights
from trl_lint.domain.provenance import Step, WrappedWhere, steps
from trl_lint.domain.state_dicts import StateDict, StateTaken
from trl_lint.domain.values import UNKNOWN, Value, Wrapping
from trl_lint.knowledge.models import INNER_MODEL
from trl_lint.knowledge.torch import KEEP_NAMES, STRICT, TAKES_WEIGHTS, WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trl_lint.analysis.events import Event
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control

_PREFIX = f"{INNER_MODEL}."
# What torch raises for names that do not fit.
_ERRORS = frozenset({"BaseException", "Exception", "RuntimeError"})
# Methods of a dict that tell nothing of its names, and change none.
_READS = frozenset({"copy", "get", "values"})
_ITEMS = "items"


class RenamedStates:
    """The ids of the calls in a file that take a state dict whose names something else may read or change."""

    def __init__(self) -> None:
        self.calls: set[int] = set()


class LoadedStates(Observer["Frame"]):
    emits = frozenset({StateLoaded})

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if isinstance(receiver, StateDict):
            if name not in _READS and not (name == _ITEMS and _keeps_items(frame, node)):
                _note_renamed(frame, receiver)
        elif name == TAKES_WEIGHTS:
            _check(frame, receiver, args, node)

    def on_argument(self, frame: Frame, value: Value, call: cst.Call) -> None:
        if not isinstance(value, StateDict) or last_name(call.func) in KEEP_NAMES:
            return
        if function_of(frame, call.func) is None:
            _note_renamed(frame, value)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        if isinstance(statement, (cst.Assign, cst.AugAssign, cst.Del)):
            _note_changed(frame, statement)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Remove what was loaded after something may have renamed it, now that all that happens to it is known."""
        return [each for each in events if not (isinstance(each, StateLoaded) and _is_renamed(each.taken))]


def _check(frame: Frame, receiver: Value, args: Arguments, node: cst.CSTNode) -> None:
    state, argument = args.get(*WEIGHTS), args.node(*WEIGHTS)
    if not isinstance(state, StateDict) or argument is None or not isinstance(node, cst.Call):
        return
    taken, model = _taken(state), named_model(frame, receiver, node)
    if taken is None or is_test(frame.function) or not _have_other_names(frame, node, model, state, taken):
        return
    if _is_tried(frame.root, node) or _names_prefix(frame.root) or _names_prefix(_root_of(taken)):
        return
    strict = args.get(*STRICT)
    frame.emit(
        StateLoaded,
        node,
        model=model,
        state=state,
        argument=argument,
        taken=taken,
        strict=strict is None or strict.const is not False,
        wrapper=_wrapper(frame, node),
        accelerator=frame.accelerator(),
    )


def _taken(state: StateDict) -> StateTaken | None:
    """Where a state dict was taken from its model."""
    return next((each for each in reversed(steps(state.provenance)) if isinstance(each, StateTaken)), None)


def _wrapper(frame: Frame, call: cst.Call) -> cst.BaseExpression | None:
    """The expression for a surely wrapped model, out of which the one that loads is taken: `model.module`."""
    match call.func:
        case cst.Attribute(value=cst.Attribute(value=owner, attr=cst.Name(name))) if name == INNER_MODEL:
            found = owner
        case cst.Attribute(value=cst.Call(func=cst.Attribute(), args=[cst.Arg(value=owner, keyword=None, star="")])):
            found = owner
        case _:
            return None
    value = frame.node_values.get(id(found), UNKNOWN)
    return found if wrapped_models.is_wrapped(value) else None


# --- whether the names fit ------------------------------------------------------------------------------


def _have_other_names(frame: Frame, call: cst.Call, model: Value, state: StateDict, taken: StateTaken) -> bool:
    """Whether a model and a state dict have other names on a way on which several processes run."""
    wrapping = wrapping_of_weights(model)
    if state.owner is Wrapping.WRAPPED:
        return wrapping.is_bare
    if state.owner is Wrapping.MAYBE:
        return wrapping.is_bare and _is_bare_beside(frame, call, model, _condition(taken))
    if wrapping is Wrapping.MAYBE:
        return state.owner is Wrapping.UNWRAPPED or _is_taken_anyway(taken, _condition(model.provenance))
    return wrapping is Wrapping.WRAPPED


def _condition(step: Step | None) -> WrappedWhere | None:
    """The condition under which a model is wrapped."""
    return next((each for each in reversed(steps(step)) if isinstance(each, WrappedWhere)), None)


def _is_bare_beside(frame: Frame, call: cst.Call, model: Value, condition: WrappedWhere | None) -> bool:
    """Whether a model is bare where another one is in the wrapper that a condition decides about."""
    if condition is None:
        return False
    own = _condition(model.provenance)
    if wrapping_of_weights(model) is Wrapping.UNWRAPPED:
        return own is not None and own.node is condition.node
    return condition.function is frame.function and not asks_for_wrapper(frame.root, call, condition)


def _is_taken_anyway(taken: StateTaken, condition: WrappedWhere | None) -> bool:
    """Whether a state dict is that of a bare model, whatever a condition decides about a wrapper."""
    return condition is not None and not asks_for_wrapper(_root_of(taken), taken.node, condition)


def _root_of(step: Step) -> cst.CSTNode:
    """The function, or the module, around a step."""
    around = [each for each in definitions_around(step.module.tree, step.node) if isinstance(each, cst.FunctionDef)]
    return around[-1] if around else step.module.tree


def _is_tried(root: cst.CSTNode, call: cst.Call) -> bool:
    """Whether a load may fail, or is what is done after another one has failed."""
    around = ancestors(root, call)
    return is_caught(root, call, _ERRORS) or any(isinstance(each, cst.ExceptHandler) for each in around)


def _names_prefix(root: cst.CSTNode) -> bool:
    """Whether code names the prefix, so that it may know of it."""
    return any(_PREFIX in each.value for each in of_class(root, cst.SimpleString))


# --- what may rename its entries ------------------------------------------------------------------------


def _keeps_items(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether the items of a state dict are those of a copy with the same names."""
    around = ancestors(frame.root, call)
    made = next((each for each in reversed(around) if isinstance(each, cst.DictComp)), None)
    return made is not None and made.for_in.iter is call and copied_by(made) is not None


def _note_changed(frame: Frame, statement: cst.CSTNode) -> None:
    """Note what a statement does to the entries of a state dict: `state[name] = x`, `del state[name]`."""
    match statement:
        case cst.Assign(targets=targets):
            changed: list[cst.CSTNode] = [each.target for each in targets]
        case cst.AugAssign(target=target) | cst.Del(target=target):
            changed = [target]
        case _:
            return
    for each in changed:
        if isinstance(each, cst.Subscript):
            value = frame.node_values.get(id(each.value), UNKNOWN)
            if isinstance(each.value, cst.Name):
                value = frame.memory.names.get(each.value.value, value)
            if isinstance(value, StateDict):
                _note_renamed(frame, value)


def _note_renamed(frame: Frame, state: StateDict) -> None:
    taken = _taken(state)
    if taken is not None:
        module = cast("Module", taken.module)
        module.notes.of(RenamedStates).calls.add(id(taken.node))
        frame.engine.note_stored(RenamedStates, module, id(taken.node))


def _is_renamed(taken: Step) -> bool:
    return id(taken.node) in cast("Module", taken.module).notes.of(RenamedStates).calls


OBSERVER = LoadedStates()
