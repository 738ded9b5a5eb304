# Nothing makes an object of a base itself: what its constructor is given, and what its methods get, its heirs say.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, model, loader, place):
        self.model = DistributedDataParallel(model)
        self.loader = loader
        self.place = place

    def save(self):
        torch.save(self.model.module.state_dict(), f"{self.place}/model.pt")  # expect: TRL008

    def left_over(self, batch):
        return self.model.encode(batch)  # expect: TRL002


class Plain(Trainer):
    def fit(self, epochs):
        for _ in range(epochs):
            for batch in self.loader:
                self.model(batch).backward()
            self.save()


class Contrastive(Trainer):
    def fit(self, epochs):
        for _ in range(epochs):
            for batch in self.loader:
                self.model(batch).backward()
                self.model.encode(batch)  # expect: TRL002


def main(rows, model):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    loader = DataLoader(rows, 8, sampler=DistributedSampler(rows))
    trainer = Plain(model, loader, "out")
    trainer.fit(10)
    other = Contrastive(model, loader, "out")
    other.fit(10)
