"""Plain torch.distributed: collectives that fill a tensor in place, into another, or return one."""

import os

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_nn
from torch.distributed import ReduceOp, all_gather_object, all_reduce
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def main():
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    reveal_rank(rank)  # revealed: local(rank)
    reveal_rank(world)  # revealed: same
    reveal_rank(int(os.environ["LOCAL_RANK"]))  # revealed: local(rank)
    reveal_rank(int(os.environ["WORLD_SIZE"]))  # revealed: same
    reveal_rank(dist.get_backend())  # revealed: same
    dataset = load()
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    model = DDP(torch.nn.Linear(2, 2), device_ids=[rank])
    reveal_rank(sampler.rank)  # revealed: local(rank)
    reveal_rank(sampler.num_replicas)  # revealed: same

    for batch in loader:
        x = batch["x"].float()
        loss = model(x).loss
        reveal_rank(x)  # revealed: shard
        reveal_rank(loss)  # revealed: local(data)

        value = loss.detach()
        dist.all_reduce(value)
        reveal_rank(value)  # revealed: same
        reveal_rank(value / world)  # revealed: same
        value = loss.detach().clone()
        dist.all_reduce(value.data)
        reveal_rank(value)  # revealed: same
        value.data /= world
        reveal_rank(value)  # revealed: same
        value.data = loss.data
        reveal_rank(value)  # revealed: local(data)
        value = x.sum()
        all_reduce(value, op=ReduceOp.SUM)
        reveal_rank(value.item())  # revealed: same
        value = loss.clone()
        dist.reduce(value, dst=0)
        reveal_rank(value)  # revealed: same(root)
        reveal_rank(value.item() / world)  # revealed: same(root)
        reveal_rank(value + loss)  # revealed: local(data)
        high = value.item() > 9
        dist.broadcast(value, src=0)
        reveal_rank(value)  # revealed: same
        ended = False
        if high:
            ended = True
        reveal_rank(ended)  # revealed: local(root)
        value = loss.clone()
        dist.broadcast(value, src=0)
        reveal_rank(value)  # revealed: same
        value = loss.clone()
        work = dist.all_reduce(value, async_op=True)
        work.wait()
        reveal_rank(value)  # revealed: same

        # A temporary is reduced: the result is discarded.
        value = loss.item()
        dist.all_reduce(torch.tensor(value))
        reveal_rank(value)  # revealed: local(data)
        dist.all_reduce(loss.to("cuda"))
        reveal_rank(loss)  # revealed: local(data)

        pieces = [torch.zeros_like(x) for _ in range(world)]
        dist.all_gather(pieces, x)
        reveal_rank(pieces[0])  # revealed: same
        reveal_rank(torch.cat(pieces))  # revealed: same
        whole = torch.empty(4)
        dist.all_gather_into_tensor(whole, x)
        reveal_rank(whole)  # revealed: same
        objects = [None] * world
        dist.all_gather_object(objects, loss.item())
        reveal_rank(objects[0])  # revealed: same
        reveal_rank(sum(objects) / world)  # revealed: same
        objects = [None for _ in range(world)]
        all_gather_object(objects, {"loss": loss.item()})
        reveal_rank(objects[0])  # revealed: same
        gathered = [torch.zeros(1) for _ in range(world)]
        dist.gather(loss, gathered, dst=0)
        reveal_rank(gathered[0])  # revealed: same(root)
        objects = [None for _ in range(world)]
        dist.gather_object(loss.item(), objects)
        reveal_rank(objects[0])  # revealed: same
        shared = [loss.item()]
        dist.broadcast_object_list(shared, src=0)
        reveal_rank(shared[0])  # revealed: same

        # Each rank receives a piece.
        piece = torch.zeros(1)
        dist.reduce_scatter_tensor(piece, x)
        reveal_rank(piece)  # revealed: shard
        piece = torch.zeros(1)
        dist.scatter(piece, list(x))
        reveal_rank(piece)  # revealed: shard
        piece = torch.zeros(1)
        dist.all_to_all_single(piece, x)
        reveal_rank(piece)  # revealed: shard

        # Differentiable ones return it.
        reveal_rank(dist_nn.all_reduce(loss))  # revealed: same
        reveal_rank(dist_nn.all_gather(x)[0])  # revealed: same
        reveal_rank(dist_nn.broadcast(loss, 0))  # revealed: same
        reveal_rank(dist.nn.functional.all_reduce(loss))  # revealed: same
        reveal_rank(dist.barrier())  # revealed: same

    total = torch.zeros(1)
    for batch in loader:
        total += model(batch["x"]).loss.detach()
    reveal_rank(total)  # revealed: local(data)
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    reveal_rank(total)  # revealed: same
    stacked = torch.stack([total, total * 2])
    dist.all_reduce(stacked)
    first, second = stacked.unbind(0)
    reveal_rank(first)  # revealed: same
    reveal_rank(second)  # revealed: same
    first, second = stacked.tolist()
    reveal_rank(first)  # revealed: same


def own_helper(value):
    """A custom reduction, called with a local value below."""
    if not dist.is_initialized():
        return value
    value = value.clone()
    dist.all_reduce(value)
    return value / dist.get_world_size()


def own_gather(value):
    pieces = [torch.zeros_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(pieces, value)
    return torch.cat(pieces)


def uses(model: DDP):
    loader = DataLoader([], sampler=DistributedSampler([]))
    for batch in loader:
        reveal_rank(own_helper(batch["x"].mean()))  # revealed: same
        reveal_rank(own_gather(batch["x"]))  # revealed: same
        tensors = {"a": batch["x"].mean(), "b": batch["x"].sum()}
        for name, tensor in tensors.items():
            dist.all_reduce(tensor)
            tensors[name] = tensor
        reveal_rank(tensors["a"])  # revealed: same


if __name__ == "__main__":
    main()
