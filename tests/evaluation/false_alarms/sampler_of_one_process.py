# A sampler that is told of one process gives each of them all rows.
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Buckets(DistributedSampler):
    def __init__(self, rows, sizes, num_replicas=None, rank=None, shuffle=True):
        super().__init__(rows, num_replicas=num_replicas, rank=rank, shuffle=shuffle)
        self.sizes = sizes


def score(net, loader):
    total = 0.0
    for rows in loader:
        total += net(rows).mean().item()
    return total / len(loader)


def main(net, rows, sizes):
    dist.init_process_group("nccl")
    sampler = Buckets(rows, sizes, shuffle=True, num_replicas=1, rank=0)
    plain = DataLoader(rows, sampler=DistributedSampler(rows, num_replicas=1, rank=0))
    own = DataLoader(rows, batch_sampler=sampler)
    shared = DataLoader(rows, batch_sampler=Buckets(rows, sizes, shuffle=True))
    own.batch_sampler.set_epoch(1)
    if dist.get_rank() == 0:
        writer = SummaryWriter("logs")
        writer.add_scalar("all/plain", score(net, plain), 0)
        writer.add_scalar("all/own", score(net, own), 0)
        writer.add_scalar("share", score(net, shared), 0)  # expect: TRL003
