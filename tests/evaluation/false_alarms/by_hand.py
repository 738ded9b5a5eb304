# The gradients are all-reduced by hand below.
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def averaged(parameters):
    size = dist.get_world_size()
    for parameter in parameters:
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad.data, op=dist.ReduceOp.SUM)
            parameter.grad.data /= size


def by_helper(network, batches, optimizer):
    model = DistributedDataParallel(network)
    for batch in batches:
        optimizer.zero_grad()
        model.module(batch).sum().backward()
        averaged(model.parameters())
        optimizer.step()


def flat(network, batches, optimizer):
    from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

    model = DistributedDataParallel(network)
    for batch in batches:
        model.module(batch).sum().backward()
        grads = [each.grad for each in model.module.parameters()]
        joined = _flatten_dense_tensors(grads)
        dist.all_reduce(joined)
        for grad, reduced in zip(grads, _unflatten_dense_tensors(joined, grads), strict=False):
            grad.copy_(reduced / dist.get_world_size())
        optimizer.step()


def not_at_all(network, batches, optimizer):
    model = DistributedDataParallel(network)
    for batch in batches:
        model.module(batch).sum().backward()  # expect: TRL009
        optimizer.step()
