"""A group that is bound to a GPU by its number, as is its barrier."""

import torch
import torch.distributed as dist

torch.cuda.set_device(0)
dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
value = torch.ones(1, device="cuda")
dist.all_reduce(value)
dist.barrier(device_ids=[0])
