"""State dicts of models, and their copies: whether the names in them begin with `module.`.

    wrapped.state_dict()                             a state dict with this as its provenance
    copy.deepcopy(state), state.copy()               the same
    {name: x.cpu() for name, x in state.items()}     the same: the names are kept
    {name[7:]: x for name, x in state.items()}       a dict of which nothing is known
    {name: x for name, x in state.items() if ok}     unknown as well: it may keep only the names that fit

None is known of a model with a `state_dict` or a hook of its own, nor of one in FSDP or DeepSpeed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.checkpoint_events import StateLoaded
from trl_lint.analysis.state.refining import Domain
from trl_lint.analysis.transfer.models.named_weights import named_model, wrapping_of_weights
from trl_lint.domain.model_roles import is_wrapped_by_code
from trl_lint.domain.state_dicts import StateDict, StateTaken
from trl_lint.domain.values import Wrapping
from trl_lint.knowledge.torch import GIVES_WEIGHTS

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value

_BARE = "the names in this state dict are those of the bare model"
_SAYS = {
    Wrapping.BARE: _BARE,
    Wrapping.MAYBE: "the names in this state dict begin with `module.` if it is wrapped",
    Wrapping.UNWRAPPED: _BARE,
    Wrapping.WRAPPED: "the names in this state dict begin with `module.`",
}
_COPY = "copy"
_DICT = "dict"
_ITEMS = "items"


class StateDictDomain(Domain["Frame"]):
    def method(
        self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        if name == _COPY and isinstance(receiver, StateDict):
            return receiver
        if name != GIVES_WEIGHTS or args.all() or not frame.engine.needs_event(StateLoaded):
            return value
        model = named_model(frame, receiver, node)
        wrapping = wrapping_of_weights(model)
        if wrapping is Wrapping.UNKNOWN:
            return value
        by_code = is_wrapped_by_code(model)
        step = StateTaken(frame.module, node, _SAYS[wrapping], model.provenance, by_code=by_code)
        return value.as_a(StateDict).with_parts(wrapping).replace(provenance=step)

    def builtin(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
        return _whole_copy(args, value) if name == _DICT else value

    def dict_comprehension(self, frame: Frame, node: cst.DictComp, value: Value) -> Value:
        copied = frame.value_of(copied_by(node))
        return copied if isinstance(copied, StateDict) else value


def _whole_copy(args: Arguments, value: Value) -> Value:
    """`dict(state)`, with nothing else in it."""
    match args.all():
        case [StateDict() as state]:
            return state
    return value


def copied_by(node: cst.DictComp) -> cst.BaseExpression | None:
    """The dict whose names a comprehension keeps: `{name: x.cpu() for name, x in state.items()}`."""
    match node:
        case cst.DictComp(
            key=cst.Name(key),
            for_in=cst.CompFor(
                target=cst.Tuple(elements=[cst.Element(value=cst.Name(name)), _]),
                iter=cst.Call(func=cst.Attribute(value=state, attr=cst.Name(method)), args=[]),
                ifs=[],
                inner_for_in=None,
            ),
        ) if key == name and method == _ITEMS:
            return state
    return None


DOMAIN = StateDictDomain()
