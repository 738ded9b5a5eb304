# A generator that yields each batch of a loader gives as many on all ranks; one that leaves some out may not.
import torch
import torch.distributed as dist
from mine import is_good, network, rows
from torch.utils.data import DataLoader, DistributedSampler


class Log:
    def every(self, batches, often):
        for number, batch in enumerate(batches):
            yield batch
            if number % often == 0:
                print(f"{number} of {len(batches)}")

    def good(self, batches):
        for batch in batches:
            if not is_good(batch):
                continue
            yield batch


@torch.no_grad()
def extract(model, loader):
    features = []
    for batch in Log().every(loader, 10):
        every = [torch.empty(8, 2, device="cuda") for _ in range(dist.get_world_size())]
        dist.all_gather(every, model(batch.cuda()))
        features += every
    return torch.cat(features)


@torch.no_grad()
def extract_good(model, loader):
    features = []
    for batch in Log().good(loader):
        every = [torch.empty(8, 2, device="cuda") for _ in range(dist.get_world_size())]
        dist.all_gather(every, model(batch.cuda()))
        features += every
    return torch.cat(features)


def main(model):
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    features = extract(model, loader)
    features = extract(model, loader) if dist.get_rank() == 0 else None  # expect: TRL006
    features = extract_good(model, loader) if dist.get_rank() == 0 else None
    return features


dist.init_process_group("nccl")
main(network())
