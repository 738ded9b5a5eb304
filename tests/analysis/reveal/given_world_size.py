# What is given as `world_size` is the number of processes, where nothing else is known of it.
import torch
from torch.distributed import all_gather, init_process_group


class Config:
    world_size: int

    def __init__(self, path):
        self.world_size = read(path)


def gathered(tensor, world_size):
    if world_size <= 1:
        return tensor
    parts = [torch.zeros_like(tensor) for _ in range(world_size)]
    all_gather(parts, tensor)
    return torch.cat(parts, dim=0)


def main(config, batch, model):
    logits = model(batch).logits
    reveal_rank(gathered(logits, config.world_size))  # revealed: same
    reveal_rank(gathered(logits, load()))  # revealed: same
    reveal_rank(gathered(logits, 1))  # revealed: local(data)


init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(build())
for batch in torch.utils.data.DataLoader(load(), sampler=torch.utils.data.DistributedSampler(load())):
    main(Config("config.yaml"), batch, model)
