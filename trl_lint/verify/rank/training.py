"""The results of training: each loss that `backward` is called on, each step's gradient norm, the final weights.

Two runs that train the same way agree in all three, and all ranks agree in the last two. Each rank records its own
parts of sharded tensors (DTensor); the reader of the traces combines them.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from . import parts, trace, wrapping
from .wrapping import Function

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn.parallel import DistributedDataParallel
    from torch.optim import Optimizer

# With more weights than this the norms of their gradients cost more than they are worth.
MAX_WEIGHTS = 50_000_000
MAX_PARAMETERS = 5_000
# The gradient norms of the first steps are recorded, then those of every tenth: two runs that diverge do so early.
FIRST_STEPS, EVERY = 100, 10
# Methods of DDP that synchronise buffers and the order of gradients, before and after the model's own forward.
# Source: torch/nn/parallel/distributed.py `DistributedDataParallel.forward` of torch 2.13.0.
_AROUND_FORWARD = ("_pre_forward", "_post_forward")
# The parameters of each optimizer, kept to the end, when the script may have released them.
_trained: dict[int, list[Tensor]] = {}
# The number of steps of each optimizer.
_steps: Counter[int] = Counter()
# The optimizers whose step is under way. That of `ZeroRedundancyOptimizer` has steps of another one, which has only
# this rank's parameters (torch/distributed/optim/zero_redundancy_optimizer.py `_local_step`).
_stepping: list[Optimizer] = []
# The parameters that DDP keeps the same on all ranks, by id, and their numbers in the order of its models. Others may
# be rank-local: a shard, a stage of a pipeline.
_replicated: dict[int, int] = {}


def patch_tensor(module: ModuleType) -> None:
    """`torch.Tensor.backward` records the loss, and its beginning and end: in it DDP waits for other ranks."""

    def make(original: Function) -> Function:
        def backward(self: Tensor, *args: object, **kwargs: object) -> object:
            if trace.current is not None and self.numel() == 1:
                with contextlib.suppress(Exception):  # while a CUDA graph is captured nothing may be read
                    trace.write("loss", value=float(self.detach()))
            with trace.synchronising():
                return original(self, *args, **kwargs)

        return backward

    wrapping.replace(module.Tensor, "backward", make)


def patch_optimizer(module: ModuleType) -> None:
    """Every optimizer's step records the norm of the gradients that it is about to use."""
    module.register_optimizer_step_pre_hook(_before_step)
    module.register_optimizer_step_post_hook(_after_step)


def patch_ddp(module: ModuleType) -> None:
    """DDP records which parameters it keeps the same, and where else it waits for other ranks."""

    def make(original: Function) -> Function:
        def constructed(self: DistributedDataParallel, *args: object, **kwargs: object) -> None:
            with trace.synchronising():
                original(self, *args, **kwargs)
            ignored = getattr(self, "parameters_to_ignore", ())
            for name, each in self.module.named_parameters():
                if name not in ignored:
                    _replicated.setdefault(id(each), len(_replicated))

        return constructed

    def make_recording(original: Function) -> Function:
        def synchronising(*args: object, **kwargs: object) -> object:
            with trace.synchronising():
                return original(*args, **kwargs)

        return synchronising

    wrapping.replace(module.DistributedDataParallel, "__init__", make)
    for name in _AROUND_FORWARD:
        wrapping.replace(module.DistributedDataParallel, name, make_recording)


def _before_step(optimizer: Optimizer, args: object, kwargs: object) -> None:
    if trace.current is None:
        return
    if optimizer in _stepping:  # its last step was ended by an exception
        del _stepping[_stepping.index(optimizer) :]
    _stepping.append(optimizer)
    if is_within_another(optimizer):
        return
    grad_norm, shares = None, None
    number = _steps[id(optimizer)]
    _steps[id(optimizer)] += 1
    if number < FIRST_STEPS or number % EVERY == 0:
        with contextlib.suppress(Exception):
            gradients = [p.grad for p in parameters_of(optimizer) if p.grad is not None]
            shares = _shares(gradients)
            grad_norm = _norm(gradients)
    if (grad_norm is not None or shares) and id(optimizer) not in _trained:
        _keep(optimizer)
    trace.write("step", grad_norm=grad_norm, shares=shares)


def _after_step(optimizer: Optimizer, args: object, kwargs: object) -> None:
    if optimizer in _stepping:
        del _stepping[_stepping.index(optimizer) :]


def is_within_another(optimizer: Optimizer) -> bool:
    """Whether this step is a part of the step of another optimizer, which has these parameters as well."""
    others = [each for each in _stepping if each is not optimizer]
    own = {id(each) for each in parameters_of(optimizer)} if others else set()
    return any(own <= {id(each) for each in parameters_of(other)} for other in others)


def _keep(optimizer: Optimizer) -> None:
    """Keep the trained parameters; on a GPU only those of the last optimizer, as the script may need the memory."""
    parameters = parameters_of(optimizer)
    if any(each.is_cuda for each in parameters):
        _trained.clear()
    _trained[id(optimizer)] = parameters


def parameters_of(optimizer: Optimizer) -> list[Tensor]:
    """The parameters of an optimizer, in its own order."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _norm(tensors: Sequence[Tensor]) -> float | None:
    """The norm over all tensors; None if it can't be computed here (too many, sharded, on several devices)."""
    import torch

    if sum(each.numel() for each in tensors) > MAX_WEIGHTS or any(map(is_sharded, tensors)):
        return None
    dense = [each for each in tensors if each.layout == torch.strided]
    if len({each.device for each in dense}) > 1 or not dense:
        return None
    norms = torch._foreach_norm([each.detach() for each in dense])
    return float(torch.linalg.vector_norm(torch.stack([each.float() for each in norms])))


def _shares(tensors: Sequence[Tensor]) -> list[tuple[list[int], float]] | None:
    """By the ranks that have the parts (empty for whole tensors), the norm over this rank's parts of all tensors.

    None if nothing is sharded, or in an unknown way.
    """
    groups: dict[tuple[int, ...], list[Tensor]] = {}
    for each in tensors:
        groups.setdefault(tuple(parts.holders(each, "is_shard")), []).append(each)
    if not any(groups) or any(map(_is_hidden, tensors)):
        return None
    norms = [(list(group), _norm([parts.local(each) for each in members])) for group, members in groups.items()]
    known = [(group, norm) for group, norm in norms if norm is not None]
    return known if len(known) == len(norms) else None


def is_sharded(tensor: Tensor) -> bool:
    """Whether this rank has only a part of the tensor (DTensor, FSDP 1, ZeRO-3)."""
    return hasattr(tensor, "_local_tensor") or _is_hidden(tensor)


def _is_hidden(tensor: Tensor) -> bool:
    """Whether the distribution of its parts is unknown here (FSDP 1, ZeRO-3, a sum that is still to be reduced)."""
    is_flat = hasattr(tensor, "ds_id") or type(tensor).__name__ == "FlatParameter"
    return is_flat or parts.together(tensor) != ""


def record() -> None:
    """Record the weights that were trained, whole ones or this rank's parts of them."""
    parameters = [each for trained in _trained.values() for each in trained]
    with contextlib.suppress(Exception):
        numbers = [_replicated.get(id(each)) for each in parameters]
        replicas = numbers if numbers and None not in numbers else None
        shares = [parts.holders(each, "is_shard") for each in parameters]
        trace.write("weights", values=_weights(parameters), shares=shares, replicas=replicas)


def _weights(parameters: Sequence[Tensor]) -> list[list[float]] | None:
    """Norm and sum of each trained parameter or this rank's part of it.

    None if nothing was trained, or if it is unknown who has the other parts.
    """
    if not 0 < len(parameters) <= MAX_PARAMETERS or any(map(_is_hidden, parameters)):
        return None
    exact = [_exact(parts.local(each)) for each in parameters]
    return [[_finite(each.norm()), _finite(each.sum())] for each in exact]


def _exact(parameter: Tensor) -> Tensor:
    try:
        return parameter.double()
    except Exception:  # some devices lack this type, or the memory for it
        return parameter.float()


def _finite(value: Tensor) -> float:
    number = float(value)
    return number if math.isfinite(number) else float("inf")
