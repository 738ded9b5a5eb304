# Two engines keep their model in objects of one class. One of them trains in one process, and has all rows there.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, path):
        self.rows = torch.load(path)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class Kept:
    def __getattr__(self, name):
        raise AttributeError(name)


class Holder:
    def __init__(self):
        self.kept = Kept()


class Engine(Holder):
    def __init__(self, net, loader):
        super().__init__()
        self.loader = loader
        self.kept.net = nn.DataParallel(net).cuda() if torch.cuda.device_count() > 1 else net.cuda()
        self.optimizer = torch.optim.AdamW(net.parameters())

    def run(self):
        for batch in self.loader:
            self.step(batch)

    def step(self, batch):
        self.kept.net(batch).mean().backward()
        self.optimizer.step()


class EngineOfClasses(Engine):
    def step(self, batch):
        super().step(batch)
        self.optimizer.zero_grad()


class EngineOfRanks(Holder):
    def __init__(self, net, loader):
        super().__init__()
        self.loader = loader
        self.kept.net = DistributedDataParallel(net)
        self.optimizer = torch.optim.AdamW(net.parameters())

    def run(self):
        for batch in self.loader:
            self.kept.net(batch).mean().backward()
            self.optimizer.step()


class EngineOfBoth(Holder):
    def __init__(self, net, loader):
        super().__init__()
        self.loader = loader
        self.kept.net = DistributedDataParallel(net) if dist.is_initialized() else nn.DataParallel(net)
        self.optimizer = torch.optim.AdamW(net.parameters())

    def run(self):
        for batch in self.loader:
            self.kept.net(batch).mean().backward()
            self.optimizer.step()


class EngineOfGiven(Holder):
    def __init__(self, model, loader):
        super().__init__()
        self.loader = loader
        self.kept.net = model
        self.spare = nn.DataParallel(nn.Linear(4, 4))
        self.optimizer = torch.optim.AdamW(model.parameters())

    def run(self):
        for batch in self.loader:
            self.kept.net(batch).mean().backward()
            self.optimizer.step()


def alone():
    EngineOfClasses(nn.Linear(4, 4), DataLoader(Rows("a.pt"), 4, shuffle=True)).run()


def on_ranks():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    EngineOfRanks(nn.Linear(4, 4).cuda(), DataLoader(Rows("b.pt"), 4, shuffle=True)).run()  # expect: TRL021
    EngineOfBoth(nn.Linear(4, 4).cuda(), DataLoader(Rows("c.pt"), 4, shuffle=True)).run()  # expect: TRL021
    model = DistributedDataParallel(nn.Linear(4, 4).cuda())
    EngineOfGiven(model, DataLoader(Rows("d.pt"), 4, shuffle=True)).run()  # expect: TRL021


if os.environ.get("LOCAL_RANK"):
    on_ranks()
else:
    alone()
