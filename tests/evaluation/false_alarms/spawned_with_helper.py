# A function that is run once per GPU of this machine creates objects of a known class.
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


class Keeper:
    def __init__(self, folder, rank):
        self.folder = folder
        self.rank = rank


def run(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    return Keeper("out", rank)


def started(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)  # expect: TRL011
    return Keeper("out", rank)


if __name__ == "__main__":
    mp.spawn(run, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())
