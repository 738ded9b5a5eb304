# What a base does by itself is not what it does in its heirs: who saves, who reports, what is reduced.
import torch
import torch.distributed as dist
import wandb
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class SaveMixin:
    def bare(self):
        return self.model.module if hasattr(self.model, "module") else self.model

    def save(self, path):
        if self.is_main():
            torch.save(self.bare().state_dict(), path)

    def is_main(self):
        return True


class Single(SaveMixin):
    def __init__(self, model, rows):
        self.model, self.loader = model, DataLoader(rows)

    def score(self, batch):
        return self.model.score(batch)


class Several(SaveMixin):
    def __init__(self, model, rows):
        self.accelerator = Accelerator(log_with="wandb")
        self.model, self.loader = self.accelerator.prepare(model, DataLoader(rows))

    def is_main(self):
        return self.accelerator.is_main_process

    def report(self):
        total = sum(self.bare().score(batch).sum() for batch in self.loader)
        self.accelerator.log({"score": self.accelerator.reduce(total, "sum").item()})
        self.save("model.pt")


class SeveralAndAll(Several):
    def is_main(self):
        return super().is_main() or self.model.weight is None  # expect: TRL002


class Learner:
    def __init__(self, model, data):
        self.model, self.data = model, data
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        self.loader = self.make_loader()

    def make_loader(self):
        return DataLoader(self.data, shuffle=True)

    def reduce(self, value):
        return value

    def save(self):
        torch.save(self.model.state_dict(), "best.pt")

    def fit(self):
        best = float("inf")
        for batch in self.loader:
            loss = self.model(batch).mean()
            loss.backward()
            self.optimizer.step()
            value = self.reduce(loss.detach())
            if value < best:
                best = value
                self.save()


class Spread(Learner):
    def __init__(self, model, data, device):
        super().__init__(model.to(device), data)
        self.model = DistributedDataParallel(self.model, device_ids=[device])

    def make_loader(self):
        return DataLoader(self.data, sampler=DistributedSampler(self.data))

    def reduce(self, value):
        dist.all_reduce(value, op=dist.ReduceOp.AVG)
        return value

    def save(self):
        if dist.get_rank() == 0:
            super().save()
        dist.barrier()


class Reporter:
    def __init__(self, rank):
        self.rank = rank

    def report(self, values):
        for name, value in values.items():
            self.write(name, value)


class WandbReporter(Reporter):
    def report(self, values):
        if self.rank == 0:
            super().report(values)

    def write(self, name, value):
        wandb.log({name: value})


class LoudReporter(Reporter):
    def write(self, name, value):
        wandb.log({name: value})  # expect: TRL008


def on_one_process(rows):
    Single(nn.Linear(2, 1), rows).save("model.pt")
    Learner(nn.Linear(2, 1), rows).fit()


def on_several(rows, local_rank):
    dist.init_process_group("nccl")
    Several(nn.Linear(2, 1), rows).report()
    SeveralAndAll(nn.Linear(2, 1), rows).report()
    Spread(nn.Linear(2, 1), rows, local_rank).fit()
    WandbReporter(dist.get_rank()).report({"rows": len(rows)})
    LoudReporter(dist.get_rank()).report({"rows": len(rows)})
