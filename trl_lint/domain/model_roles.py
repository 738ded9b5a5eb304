"""Models: how they are wrapped, and their role: the one that is trained, one in a certain wrapper, or another."""

from __future__ import annotations

from trl_lint.domain.kinds import ModelRole, ModelValue, PreparedObject
from trl_lint.domain.provenance import ShardedAmongAll, WrappedWhere, steps
from trl_lint.domain.values import Value, Wrapping

_OF_DDP = (ModelRole.REPLICATED, ModelRole.GRADIENTS_ONLY, ModelRole.STATISTICS)


def is_trained(value: Value) -> bool:
    """Whether a model is the one that a Trainer trains."""
    return isinstance(value, ModelValue) and value.role in (ModelRole.TRAINED, ModelRole.EVALUATED)


def is_evaluated(value: Value) -> bool:
    """Whether a Trainer evaluates a model, which needs no DDP: there are no gradients."""
    return isinstance(value, ModelValue) and value.role is ModelRole.EVALUATED


def is_data_parallel(value: Value) -> bool:
    return isinstance(value, ModelValue) and value.role is ModelRole.DATA_PARALLEL


def may_be_data_parallel(value: Value) -> bool:
    """Whether one process may wrap a model in DataParallel: Trainer does so if the process has several GPUs."""
    return is_trained(value) or is_data_parallel(value)


def is_spread(value: Value) -> bool:
    """Whether the layers of a model are spread over all GPUs of a process."""
    return isinstance(value, ModelValue) and value.role is ModelRole.SPREAD


def is_replicated(value: Value) -> bool:
    return isinstance(value, ModelValue) and value.role in _OF_DDP


def is_wrapped_by_code(value: Value) -> bool:
    """Whether the code itself puts a model into torch's DDP or DataParallel, whatever a library would do."""
    return is_replicated(value) or is_data_parallel(value)


def sends_gradients_only(value: Value) -> bool:
    """Whether DDP wraps a model in a way that sends nothing in its forward, so that nobody waits there."""
    return isinstance(value, ModelValue) and value.role is ModelRole.GRADIENTS_ONLY


def averages_statistics(value: Value) -> bool:
    """Whether DDP wraps a model in such a way, but with layers that send their statistics while it is trained."""
    return isinstance(value, ModelValue) and value.role is ModelRole.STATISTICS


def is_sharded(value: Value) -> bool:
    """Whether FSDP 1 wraps a model, in a way that shards it."""
    return isinstance(value, ModelValue) and value.role is ModelRole.SHARDED


def has_dtensors(value: Value) -> bool:
    """Whether FSDP 2 has sharded the parameters of a model, in place: its class and its attributes stay as they are."""
    return isinstance(value, ModelValue) and value.role is ModelRole.DTENSORS


def is_sharded_among_all(value: Value) -> bool:
    """Whether FSDP 1 or 2 shards a model among all ranks, and not among those of a group or a mesh."""
    is_in_parts = is_sharded(value) or has_dtensors(value)
    return is_in_parts and any(isinstance(each, ShardedAmongAll) for each in steps(value.provenance))


def in_model_role(value: Value, role: ModelRole) -> Value:
    """The same model, in another role."""
    if not isinstance(value, ModelValue) or value.role is role:
        return value
    return value.with_parts(*(role if part == "role" else getattr(value, part) for part in value.parts))


def common_role(a: Value, b: Value) -> ModelRole:
    """The role of a model on two ways: that of training includes its evaluation."""
    if is_replicated(a) and is_replicated(b):
        return ModelRole.REPLICATED
    return ModelRole.TRAINED if is_trained(a) and is_trained(b) else ModelRole.OTHER


def wrapping_of(value: Value) -> Wrapping | None:
    """How a model is wrapped; None for everything else, also for a batch of a prepared loader."""
    return value.wrapping if isinstance(value, ModelValue) else None


def may_be_model(value: Value) -> bool:
    """Whether a value is a model, or a result of `prepare` that may be one."""
    return isinstance(value, (ModelValue, PreparedObject))


def is_undecided(value: Value) -> bool:
    """Whether a model is wrapped, or is inside a wrapper, only under a condition that `provenance` says."""
    if not isinstance(value, ModelValue):
        return False  # as for most of the values that are asked about at each test
    is_inside = value.wrapping is Wrapping.UNWRAPPED and isinstance(value.provenance, WrappedWhere)
    return is_inside or value.wrapping is Wrapping.MAYBE


def once_tested(value: Value) -> Value:
    """An undecided model after a test that may have decided about it."""
    if value.wrapping is Wrapping.MAYBE:
        return value.replace(wrapping=Wrapping.UNKNOWN)
    return value.replace(wrapping=Wrapping.BARE, provenance=None)
