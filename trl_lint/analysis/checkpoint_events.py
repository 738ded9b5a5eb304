"""Events about the weights that programs save and load, for the rules; see `events.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trl_lint.analysis.events import Event
from trl_lint.knowledge import mentions

if TYPE_CHECKING:
    from libcst import Arg, BaseExpression, Call

    from trl_lint.analysis.program.idioms.read_files import ReadPart
    from trl_lint.domain.state_dicts import StateDict, StateTaken
    from trl_lint.domain.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLoaded(Event):
    """`model.load_state_dict(state)`, whose names differ from those of the model on several processes.

    argument: the Arg node of the state dict. taken: where it was taken from its model. strict: whether names that do
    not fit are an error. wrapper: the expression for a model that is surely wrapped, out of which `model` is taken.
    read: the part of a file that it is, if it has been saved to one.
    """

    mentions = (mentions.TAKES_WEIGHTS,)
    anywhere = True  # what wraps the model may be in another file

    node: Call
    model: Value
    state: StateDict
    argument: Arg
    taken: StateTaken
    strict: bool = True
    wrapper: BaseExpression | None = None
    read: ReadPart | None = None
    accelerator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardsSaved(Event):
    """The weights of the module inside a wrapper are written as this rank has them: an engine may have sharded them.

    model: the module. owner: its expression. trainer: that of the Trainer whose model it is, None if it is of none.
    wrapped: that of the wrapper that Accelerate has taken it out of, None if the function does not show it.
    is_given_whole: whether the function that saves gets the weights that its caller has gathered. by_adapters: whether
    the file has adapters, whose modules FSDP wraps each for itself.
    """

    mentions = (mentions.SAVES_MODELS,)
    anywhere = True  # what wraps the model may be in another file

    node: Call
    model: Value
    owner: BaseExpression
    trainer: BaseExpression | None = None
    wrapped: BaseExpression | None = None
    accelerator: str = ""
    is_given_whole: bool = False
    by_adapters: bool = False
