# A helper that makes loaders is passed two samplers: the one of the training has its own way to shuffle in each epoch,
# and the other one, of the evaluation, is not told the epoch. Where one of them has all rows in order, it is the first.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Sampler, SequentialSampler


class Mixed(Sampler):
    def __init__(self, rows):
        self.rows, self.turn = rows, 0

    def __iter__(self):
        self.turn += 1
        order = torch.randperm(len(self.rows), generator=torch.Generator().manual_seed(self.turn)).tolist()
        return iter(order[dist.get_rank() :: dist.get_world_size()])

    def __len__(self):
        return len(self.rows) // dist.get_world_size()


def load(rows, sampler):
    return DataLoader(rows, batch_size=8, sampler=sampler)


def load_or_all(rows, sampler):
    return DataLoader(rows, batch_size=8, sampler=sampler)


def step(model, batch, optimizer):
    model(batch).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


@torch.no_grad()
def evaluate(model, loader):
    for batch in loader:
        model(batch)


def main(rows, others, net, optimizer):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(net.cuda())
    loader = load(rows, Mixed(rows))
    loader_of_others = load(others, DistributedSampler(others))
    for _ in range(10):
        for batch in loader:
            step(model, batch, optimizer)
        evaluate(model, loader_of_others)
    loader = load_or_all(rows, DistributedSampler(rows))
    loader_of_others = load_or_all(others, SequentialSampler(others))
    for _ in range(10):  # expect: TRL019
        for batch in loader:
            step(model, batch, optimizer)
        evaluate(model, loader_of_others)
