# Once a loop over the keys of a dict has replaced each of its entries by something reduced, all of it is.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def reduced(tensor, world_size):
    total = tensor.clone()
    dist.all_reduce(total)
    return total / world_size


class Trainer:
    def __init__(self, net, rows, rank, world_size):
        dist.init_process_group("nccl")
        self.net = DDP(net)
        self.loader = DataLoader(rows, sampler=DistributedSampler(rows))
        self.writer = SummaryWriter("x") if rank == 0 else None
        self.rank, self.world_size = rank, world_size

    def validate(self):
        with torch.no_grad():
            for rows in self.loader:
                losses, _ = self.net(rows)
                for name in losses:
                    losses[name] = reduced(losses[name].data, self.world_size)
                if self.rank == 0:
                    shown = {name: float(losses[name].data.mean()) for name in losses}
                    for name in shown:
                        self.writer.add_scalar(name, shown[name], 1)

    def validate_pairs(self):
        with torch.no_grad():
            for rows in self.loader:
                losses, _ = self.net(rows)
                for name, loss in losses.items():
                    losses[name] = reduced(loss, self.world_size)
                if self.rank == 0:
                    for name in losses:
                        self.writer.add_scalar(name, losses[name].mean(), 1)

    def validate_some(self, names):
        with torch.no_grad():
            for rows in self.loader:
                losses, _ = self.net(rows)
                for name in losses:
                    if name in names:
                        continue
                    losses[name] = reduced(losses[name].data, self.world_size)
                if self.rank == 0:
                    for name in losses:
                        self.writer.add_scalar(name, losses[name].mean(), 1)  # expect: TRL003

    def validate_known(self, names):
        with torch.no_grad():
            for rows in self.loader:
                losses, _ = self.net(rows)
                for name in names:
                    losses[name] = reduced(losses[name].data, self.world_size)
                if self.rank == 0:
                    for name in losses:
                        self.writer.add_scalar(name, losses[name].mean(), 1)  # expect: TRL003

    def train(self, rows):
        sums = {}
        for step, batch in enumerate(self.loader):
            losses = self.net(batch)
            for name in losses:
                if name not in sums:
                    sums[name] = 0.0
                sums[name] += losses[name].detach()
            if step % 10 == 0:
                self.show(sums, step)
                sums = {}

    def show(self, sums, step):
        for name in sums:
            sums[name] = reduced(sums[name], self.world_size)
        if self.rank == 0:
            for name in sums:
                self.writer.add_scalar(name, sums[name], step)
