# A group of one is also started where its size is given to the function that starts it.
import torch
import torch.distributed as dist


def start(rank, size):
    dist.init_process_group("gloo", rank=rank, world_size=size)


start(0, 1)
torch.save(torch.zeros(2), "features.pth")
