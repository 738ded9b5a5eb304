"""Which models FSDP 1 shards, so that each rank holds a part of each of their gradients.

    FSDP(net)                                                a model in the role SHARDED, with this as its provenance
    FSDP(net, sharding_strategy=strategy)                    the same: it was made to shard
    FSDP(net, process_group=group)                           the same, but not all ranks share the shards
    FSDP(net, sharding_strategy=ShardingStrategy.NO_SHARD)   a model: each rank holds all of it
    model.part = FSDP(model.part)                            noted: who runs `model` runs the wrapper
    fully_shard(net)                                         in the role DTENSORS, by the interpreter: see
                                                             `interpreter/calls/sharded_models.py`

The names of the wrapper and of its strategies are in `knowledge/torch_distributed.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.state.refining import Domain
from trl_lint.analysis.transfer.models import wrapped_parts
from trl_lint.domain.kinds import ModelRole, is_none, library_name_of
from trl_lint.domain.model_roles import in_model_role
from trl_lint.domain.provenance import ShardedAmongAll, Step
from trl_lint.knowledge.schema import SOME_MODEL
from trl_lint.knowledge.torch_distributed import FSDP, GROUPS_OF_FSDP, SHARDING, SHARDS_NOTHING, STRATEGY

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


class ShardingDomain(Domain["Frame"]):
    def library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
        if name != FSDP or not _shards(frame, args):
            return None
        kind = ShardedAmongAll if all(is_none(args.get(*each)) for each in GROUPS_OF_FSDP) else Step
        step = kind(frame.module, node, "FSDP shards the model here")
        return in_model_role(SOME_MODEL, ModelRole.SHARDED).replace(provenance=step)

    def stored(self, frame: Frame, target: cst.Attribute, value: Value) -> None:
        wrapped_parts.note(frame, target, value)


def _shards(frame: Frame, args: Arguments) -> bool:
    """Whether FSDP shards a model with these arguments; a strategy that is chosen elsewhere may, or why choose it."""
    strategy = args.get(*STRATEGY)
    name = library_name_of(strategy)
    if name:
        return not name.endswith(f".{SHARDS_NOTHING}")
    if strategy is None and args.star is None and args.double is None:
        return True
    return not frame.module.mentions(SHARDS_NOTHING.encode()) or frame.module.mentions(SHARDING)


DOMAIN = ShardingDomain()
