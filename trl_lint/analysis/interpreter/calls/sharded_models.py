"""Models that FSDP 2 shards: it changes the one that it is passed, and wraps nothing.

For example:

    for block in net.blocks:
        fully_shard(block)
    fully_shard(net)                         `net` keeps its class, and has DTensors, which its forward gathers
    net = fully_shard(net, mesh=mesh)        the same model, for the ranks of a mesh
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trl_lint.analysis.interpreter.objects import assignment
from trl_lint.domain.kinds import ContainerValue, ModelRole, ModelValue, class_name_of, is_none
from trl_lint.domain.model_roles import in_model_role
from trl_lint.domain.provenance import ShardedAmongAll, Step
from trl_lint.domain.ranks import SAME
from trl_lint.domain.values import UNKNOWN, Value, Wrapping
from trl_lint.knowledge.torch_distributed import DEVICE_MESH, FULLY_SHARD, MESH_OF_FULLY_SHARD, MODEL_OF_FULLY_SHARD

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame


def _fully_shard(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    model = args.get(*MODEL_OF_FULLY_SHARD)
    if model is None:
        return UNKNOWN
    if isinstance(model, ContainerValue) or model.rank.differs or model.wrapping is Wrapping.WRAPPED:
        return model
    kind = ShardedAmongAll if _is_for_all(args) else Step
    step = kind(frame.module, node, "FSDP shards the model here")
    bare = model if isinstance(model, ModelValue) else ModelValue(SAME, wrapping=Wrapping.BARE)
    sharded = in_model_role(bare, ModelRole.DTENSORS).replace(provenance=step)
    argument = args.node(*MODEL_OF_FULLY_SHARD)
    if argument is not None:
        assignment.rebind(frame, argument.value, sharded)
    return sharded


def _is_for_all(args: Arguments) -> bool:
    """Whether all ranks share the shards: without a mesh, or with a whole one, and not `mesh["dp"]`, a part of it."""
    mesh = args.get(*MESH_OF_FULLY_SHARD)
    return args.double is None if mesh is None else is_none(mesh) or class_name_of(mesh) == DEVICE_MESH


HANDLERS: dict[str, Callable[[Frame, Arguments, cst.CSTNode], Value]] = {FULLY_SHARD: _fully_shard}
