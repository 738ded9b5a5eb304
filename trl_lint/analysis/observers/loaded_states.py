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
from trl_lint.analysis.program.syntax import ancestors, last_name
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.domains.state_dict_facts import copied_by
from trl_lint.analysis.transfer.models import wrapped_models
from trl_lint.analysis.transfer.models.fitting_names import allows_for_both, have_other_names, taken_at
from trl_lint.analysis.transfer.models.named_weights import named_model
from trl_lint.domain.provenance import Step
from trl_lint.domain.state_dicts import StateDict
from trl_lint.domain.values import Value
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

# Methods of a dict that tell nothing of its names, and change none.
_READS = frozenset({"copy", "get", "values"})
_ITEMS = "items"


class RenamedStates:
    """The ids of the calls in a file that take a state dict whose names something else may read or change."""

    def __init__(self) -> None:
        self.calls: set[int] = set()


class LoadedStates(Observer["Frame"]):
    emits = frozenset({StateLoaded})
    statements = (cst.Assign, cst.AugAssign, cst.Del)

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
    taken, model = taken_at(state), named_model(frame, receiver, node)
    if taken is None or is_test(frame.function) or allows_for_both(frame.root, node, taken):
        return
    if not have_other_names(frame.root, frame.function, node, model, state):
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


def _wrapper(frame: Frame, call: cst.Call) -> cst.BaseExpression | None:
    """The expression for a surely wrapped model, out of which the one that loads is taken: `model.module`."""
    match call.func:
        case cst.Attribute(value=cst.Attribute(value=owner, attr=cst.Name(name))) if name == INNER_MODEL:
            found = owner
        case cst.Attribute(value=cst.Call(func=cst.Attribute(), args=[cst.Arg(value=owner, keyword=None, star="")])):
            found = owner
        case _:
            return None
    value = frame.value_of(found)
    return found if wrapped_models.is_wrapped(value) else None


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
            value = frame.value_of(each.value)
            if isinstance(each.value, cst.Name):
                value = frame.memory.names.get(each.value.value, value)
            if isinstance(value, StateDict):
                _note_renamed(frame, value)


def _note_renamed(frame: Frame, state: StateDict) -> None:
    taken = taken_at(state)
    if taken is not None:
        module = cast("Module", taken.module)
        module.notes.of(RenamedStates).calls.add(id(taken.node))
        frame.engine.note_stored(RenamedStates, module, id(taken.node))


def _is_renamed(taken: Step) -> bool:
    return id(taken.node) in cast("Module", taken.module).notes.of(RenamedStates).calls


OBSERVER = LoadedStates()
