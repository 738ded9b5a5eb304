# An engine of DeepSpeed runs the model that it was made for, and hands on what it has not itself to it.
import deepspeed
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

from somewhere import args, build, rows


class GatherAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, features):
        parts = [torch.zeros_like(features) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, features)
        return torch.cat(parts)


class Contrast(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x):
        features = GatherAll.apply(self.layer(x))
        return {"loss": (features @ features.T).mean()}


class Mean(nn.Module):
    def forward(self, x):
        return {"loss": x.mean()}

    def distance(self, x):
        return (x - x.mean()).norm()

    def get_lr(self, x):
        return x.mean()


loader = DataLoader(rows(), sampler=DistributedSampler(rows()))
contrast, *_ = deepspeed.initialize(model=Contrast(), config="ds.json")
mean = deepspeed.initialize(args, Mean())[0]
other, *_ = deepspeed.initialize(model=build())
for batch in loader:
    reveal_rank(contrast(batch)["loss"])  # revealed: unknown
    reveal_rank(contrast.forward(batch)["loss"])  # revealed: unknown
    reveal_rank(contrast.module(batch)["loss"])  # revealed: unknown
    reveal_rank(mean(batch)["loss"])  # revealed: local(data)
    reveal_rank(mean.forward(batch)["loss"])  # revealed: local(data)
    reveal_rank(mean.module(batch)["loss"])  # revealed: local(data)
    reveal_rank(mean.module.distance(batch).mean())  # revealed: partial(mean)
    reveal_rank(mean.distance(batch).mean())  # revealed: partial(mean)
    measure = mean.distance
    reveal_rank(measure(batch).mean())  # revealed: partial(mean)
    reveal_rank(mean.get_lr(batch))  # revealed: unknown
    reveal_rank(mean.config)  # revealed: unknown
    reveal_rank(mean.local_rank)  # revealed: local(rank)
    reveal_rank(other(batch)["loss"])  # revealed: local(data)
    reveal_rank(other.module)  # revealed: unknown
either = mean if args.plain else other
for batch in loader:
    reveal_rank(either(batch)["loss"])  # revealed: local(data)
