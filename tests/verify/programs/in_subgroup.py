"""Of four ranks in two groups, rank 3 leaves rank 2 alone; the other group has finished and waits for all."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
if rank != 3:
    dist.all_reduce(torch.ones(1), group=groups[rank // 2])  # waits: 2
dist.barrier()  # waits: 0 1 3
