"""Each rank waits for a message before it sends its own: there is no collective in which it could be seen."""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
received = torch.empty(1)
dist.recv(received, (rank - 1) % size)
dist.send(torch.ones(1), (rank + 1) % size)
