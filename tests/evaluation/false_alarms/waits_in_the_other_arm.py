# A wait of the others in one branch says nothing about the writers in the other one.
import torch
import torch.distributed as dist
from jobs import is_leader, is_ready


def save(data):
    dist.init_process_group("nccl")
    if not is_leader():
        dist.barrier()
    else:
        torch.save(data, "cache.pt")
        dist.barrier()


def save_behind(data):
    dist.init_process_group("nccl")
    if is_ready():
        dist.barrier()
        torch.save(data, "cache.pt")  # expect: TRL008


save(torch.zeros(2))
save_behind(torch.zeros(2))
