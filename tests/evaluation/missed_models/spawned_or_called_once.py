# With one GPU the function is called with the rank and the size of a run alone; with several, in a process for each.
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from tqdm import tqdm


def train(rank, world_size, batches):
    if world_size > 1:
        dist.init_process_group("nccl", rank=rank, world_size=world_size)
    if rank == 0:
        bar = tqdm(total=20)
    for _ in batches:
        if rank == 0:
            bar.refresh()
        bar.update(world_size)  # expect: TRL017


if __name__ == "__main__":
    world_size = max(torch.cuda.device_count(), 1)
    if world_size > 1:
        mp.spawn(train, args=(world_size, range(20)), nprocs=world_size)
    else:
        train(0, 1, range(20))
