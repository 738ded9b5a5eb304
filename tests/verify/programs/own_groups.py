"""Each rank also has its own group: right code, in which the ranks' total calls differ."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
groups = [dist.new_group([each]) for each in range(dist.get_world_size())]
for _ in range(rank):
    dist.all_reduce(torch.ones(1), group=groups[rank])
dist.all_reduce(torch.ones(1), group=groups[0])
dist.all_reduce(torch.ones(1))
