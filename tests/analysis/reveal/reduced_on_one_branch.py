"""What only several processes reduce is not this rank's own afterwards, whether it is a name, an attribute or an item."""

import torch
import torch.distributed as dist


class Meter:
    def __init__(self):
        self.total = 0.0


def rank_of(args):
    return args.local_rank


def evaluate(args, data):
    local_rank = rank_of(args)
    loader = torch.utils.data.DataLoader(data, sampler=torch.utils.data.DistributedSampler(data))
    meter, sums, losses, means = Meter(), {}, [], {}
    for batch in loader:
        loss = batch["x"].mean()
        for task in args.tasks:
            sums[task] = batch["x"].sum()
    meter.total = loss
    sums["eval"] = loss.clone()
    losses.append(loss.clone())
    means["eval"] = loss.clone()
    if local_rank != -1 and not args.skip_reduction:
        for task in sums:
            dist.all_reduce(sums[task])
        dist.all_reduce(meter.total)
        dist.all_reduce(losses[0])
        sums["eval"] = sums["eval"] / dist.get_world_size()
    if args.skip_reduction:
        dist.all_reduce(means["eval"])
    reveal_rank(sums["eval"])  # revealed: unknown
    reveal_rank(losses[0])  # revealed: unknown
    reveal_rank(meter.total)  # revealed: unknown
    # The setting says nothing about the job.
    reveal_rank(means["eval"])  # revealed: local(data)
    reveal_rank(loss)  # revealed: partial(mean)


def by_engine(args, data):
    loader = torch.utils.data.DataLoader(data, sampler=torch.utils.data.DistributedSampler(data))
    for batch in loader:
        loss, other = batch["x"].mean().detach(), batch["x"].mean().detach()
        if args.backend == "deepspeed+mpu":
            dist.all_reduce(loss.data, group=args.group)
        elif args.backend == "deepspeed":
            dist.all_reduce(loss.data)
        if args.backend == "numpy":
            dist.all_reduce(other)
        reveal_rank(loss)  # revealed: unknown
        reveal_rank(other)  # revealed: local(data)


def stop(args, stopper, data):
    loader = torch.utils.data.DataLoader(data, sampler=torch.utils.data.DistributedSampler(data))
    stops, late = False, False
    for batch in loader:
        loss = batch["x"].mean().item()
        if dist.get_rank() == 0:
            stops = loss > 1
            late = loss > 2
        told = torch.tensor(1.0 if stops else 0.0)
        dist.broadcast(told, src=0)
        if told.item() == 1.0:
            stops = True
        reveal_rank(stops)  # revealed: unknown
        # What is told says nothing about another flag, nor does a rank's own.
        if loss > 3:
            late = True
        reveal_rank(late)  # revealed: local(data)
