# A model of another file that is given a function that gathers may compute its loss from what all ranks have.
import torch
import torch.distributed as dist
from models import build
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Everyone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x)
        return torch.cat(parts)


class Trainer:
    def __init__(self, config, rows, gpu):
        self.model = DistributedDataParallel(build(config), device_ids=[gpu])
        self.loader = DataLoader(rows, sampler=DistributedSampler(rows), shuffle=False)
        self.writer = SummaryWriter("logs") if dist.get_rank() == 0 else None
        self.gather = Everyone.apply
        self.optimizer = torch.optim.SGD(self.model.parameters())

    def of_all(self):
        total = 0
        for batch in self.loader:
            loss, _ = self.model(batch, self.gather)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        if dist.get_rank() == 0:
            self.writer.add_scalar("loss", total)

    def of_one(self):
        total = 0
        for batch in self.loader:
            loss, _ = self.model(batch, self.optimizer)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        if dist.get_rank() == 0:
            self.writer.add_scalar("loss", total)  # expect: TRL003

    def by_name(self, gather):
        total = 0
        for batch in self.loader:
            loss, _ = self.model(batch, gather)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        if dist.get_rank() == 0:
            self.writer.add_scalar("loss", total)
