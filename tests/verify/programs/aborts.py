"""Tensors of different shapes in one gather: the C++ code aborts, without a Python exception."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
share = torch.ones(2 + dist.get_rank())
shares = [torch.zeros_like(share) for _ in range(dist.get_world_size())]
dist.all_gather(shares, share)  # cause
