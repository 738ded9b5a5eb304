# A function that is passed a wrapper runs it, with what a method of the module inside has made of the rows.
import torch
import torch.distributed as dist
from models import build
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Flow:
    def loss(self, model, rows):
        noise = torch.randn_like(rows)
        return (torch.func.jvp(lambda x: model(x), (rows,), (noise,))[1] - noise).square().mean()


class Trainer:
    def __init__(self):
        self.model = DistributedDataParallel(build().cuda())
        self.flow = Flow()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def loss_of(self, rows):
        rows = self.model.module.normalize(rows)
        loss = self.flow.loss(self.model, rows)
        return loss

    def step(self, rows):
        loss = self.loss_of(rows)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


class Bare:
    def __init__(self):
        self.model = DistributedDataParallel(build().cuda())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def loss_of(self, rows):
        losses = self.model.module.training_losses(rows)  # expect: TRL009
        self.show(self.model, rows)
        return losses

    def show(self, model, rows):
        with torch.no_grad():
            model(rows)

    def step(self, rows):
        loss = self.loss_of(rows)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
rows = torch.randn(100, 3)
trainer, bare = Trainer(), Bare()
for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
    trainer.step(batch.cuda())
    bare.step(batch.cuda())
