# Only the rank that has written a file knows its name, so that `hasattr` is false on the others.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Trainer:
    def __init__(self, dataset, folder, keeps):
        self.rank = dist.get_rank()
        self.folder = folder
        self.keeps = keeps
        self.loader = DataLoader(dataset, 16, sampler=DistributedSampler(dataset))
        self.model = DistributedDataParallel(nn.Linear(8, 3).cuda())
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.best = None

    def train(self, epoch):
        self.loader.sampler.set_epoch(epoch)
        for x, y in self.loader:
            loss = nn.functional.cross_entropy(self.model(x.cuda()), y.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        if self.rank == 0:
            print(epoch, loss.item())
            if self.best is None or loss.item() < self.best:
                self.best = loss.item()
                self.keep_best(epoch)
        self.plan(epoch)

    def keep_best(self, epoch):
        self.saved = os.path.join(self.folder, "last.pt")
        torch.save(self.model.module.state_dict(), self.saved)

    def plan(self, epoch):
        self.planned = os.path.join(self.folder, "plan.txt")

    def clean(self):
        if not self.keeps:
            if hasattr(self, "saved"):
                os.remove(self.saved)
            if hasattr(self, "planned") and os.path.exists(self.planned):
                os.remove(self.planned)  # expect: TRL008

    def run(self):
        for epoch in range(10):
            self.train(epoch)
        self.clean()


class OtherTrainer:
    def __init__(self, folder):
        self.folder = folder

    def keep_best(self, epoch):
        self.written = epoch

    def run(self):
        self.keep_best(3)


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    Trainer(torch.load("data.pt"), "out", bool(os.environ.get("KEEP"))).run()
