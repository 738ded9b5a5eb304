"""A tensor on the CPU in a collective of nccl, which takes those on a GPU alone."""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
dist.all_reduce(torch.ones(1))  # cause
