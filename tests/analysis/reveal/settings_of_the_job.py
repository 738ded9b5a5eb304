"""Settings under which the process group is started are those of several processes, each part of `and` as well."""

import os

import torch
import torch.distributed as dist


def train(local_rank, args):
    if args.distributed and args.gpus_per_node > 1 and args.fast:
        dist.init_process_group("nccl")
    loader = torch.utils.data.DataLoader(args.data, sampler=torch.utils.data.DistributedSampler(args.data))
    for batch in loader:
        loss = torch.nn.functional.mse_loss(batch["x"], batch["y"]).mean()

    a = loss
    if args.distributed and args.gpus_per_node > 1:
        a = a.to(local_rank)
        dist.all_reduce(a)
    reveal_rank(a)  # revealed: same
    if args.gpus_per_node == 1:
        reveal_rank(loss)  # revealed: never

    # It says nothing about the job.
    if args.fast:
        reveal_rank(loss)  # revealed: local(data)
    else:
        reveal_rank(loss)  # revealed: local(data)

    # Without a known group, it may be the only sign of other processes.
    b = loss.clone()
    if args.ddp:
        dist.all_reduce(b)
    reveal_rank(b)  # revealed: unknown
    c = loss.clone()
    if args.fast:
        dist.all_reduce(c)
    reveal_rank(c)  # revealed: local(data)


def started():
    dist.init_process_group("nccl")
    return int(os.environ["LOCAL_RANK"])


def train_where_asked(config):
    several = config.get("several", False)
    fast = config.get("fast", False)
    local_rank = started() if several else 0
    seed = 3 if fast else 4
    if not several:
        reveal_rank(local_rank)  # revealed: never
    if not fast:
        reveal_rank(seed)  # revealed: same
