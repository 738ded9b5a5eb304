"""A tensor on the CPU in a collective of nccl, which only takes tensors on a GPU."""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
dist.all_reduce(torch.ones(1))  # cause
