# A worker that takes its share by its number, and tells nobody, is no rank of a job: it joins no process group.
import torch.distributed as dist
import torch.multiprocessing as mp


def make_group(ranks):
    if len(ranks) > 1 and dist.is_initialized():
        return dist.new_group(ranks)
    return None


def estimate(sizes, folder, rank: int = 0, workers: int = 1):
    for size in sizes[rank::workers]:
        make_group(list(range(size)))
    print(f"worker {rank} has written {folder}")


def train(sizes, folder, rank: int = 0, workers: int = 1):
    dist.init_process_group("nccl", rank=rank, world_size=workers)
    for size in sizes[rank::workers]:
        ranks = list(range(size))
        if len(ranks) > 1:
            dist.new_group(ranks)  # expect: TRL006


def main(sizes, folder):
    for rank in range(4):
        mp.Process(target=estimate, args=(sizes, folder, rank, 4)).start()
    for rank in range(4):
        mp.Process(target=train, args=(sizes, folder, rank, 4)).start()
