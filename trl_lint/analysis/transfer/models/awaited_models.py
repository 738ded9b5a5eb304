"""Models that all ranks have to run together, as those wait that do so alone.

For example:

    model = DDP(net)            is_awaited
    model = FSDP(net)           is_awaited and is_sharded: the ranks gather its parameters even without gradients
    fully_shard(net)            is_sharded
    model.module                may_be_sharded, if it is not known that DDP is the wrapper
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.domain import model_roles
from trl_lint.domain.kinds import PreparedObject
from trl_lint.domain.model_roles import is_data_parallel, is_replicated, is_sharded_among_all, wrapping_of
from trl_lint.domain.values import Value, Wrapping
from trl_lint.knowledge.torch_distributed import STATE_OF_THIS_RANK

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


def is_awaited(model: Value) -> bool:
    """Whether the ranks that run a model wait for those that do not, as it is wrapped, or may be after `prepare`."""
    return _may_be_prepared(model) or is_wrapped(model)


def may_be_sharded(frame: Frame, model: Value) -> bool:
    """Whether a value is the module in a wrapper that may shard it: the ranks gather each parameter to use it."""
    is_inside = wrapping_of(model) is Wrapping.UNWRAPPED and not is_replicated(model)
    return is_inside and not frame.memory.control.parameters_gathered


def generates_with_shards(frame: Frame, model: Value) -> bool:
    """Whether a value is such a module, or the wrapper itself: DeepSpeed and FSDP have the module inside generate."""
    if may_be_sharded(frame, model) or is_sharded(frame, model):
        return True
    return is_awaited(model) and not is_replicated(model) and not frame.memory.control.parameters_gathered


def is_sharded(frame: Frame, model: Value) -> bool:
    """Whether FSDP wraps a model for all ranks, which have to gather its parameters."""
    return is_sharded_among_all(model) and not frame.memory.control.parameters_gathered


def gathers_its_state(frame: Frame, model: Value) -> bool:
    """Whether all ranks gather the weights of a model that is asked for its state dict: FSDP 2 gives its DTensors.

    With any type of state dict but one: what is said of it elsewhere in the file may be of this model.
    """
    return model_roles.is_sharded(model) and is_sharded(frame, model) and not frame.module.mentions(STATE_OF_THIS_RANK)


def _may_be_prepared(model: Value) -> bool:
    """Whether `prepare` returned a value for an object of unknown class, and may have wrapped it: not if frozen."""
    return isinstance(model, PreparedObject) and model.grad


def is_wrapped(model: Value) -> bool:
    """Whether a model is wrapped, if only on the branch on which the program runs with DDP: on others no ranks wait.

    A DataParallel works inside its own process, whether or not there are others.
    """
    if is_data_parallel(model):
        return False
    return model.wrapping is Wrapping.WRAPPED or (model.wrapping is Wrapping.MAYBE and is_replicated(model))
