import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Endless(DistributedSampler):
    def __iter__(self):
        g = torch.Generator()
        turn = 0
        while True:
            g.manual_seed(self.seed + self.epoch + turn)
            yield from torch.randperm(len(self.dataset), generator=g).tolist()[self.rank :: self.num_replicas]
            turn += 1


def endless(net, rows, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    it = iter(DataLoader(rows, sampler=Endless(rows)))
    while True:
        try:
            batch = next(it)
        except StopIteration:
            it = iter(DataLoader(rows, sampler=Endless(rows)))
            batch = next(it)
        model(batch).sum().backward()
        optimizer.step()


def lazy(net, rows, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    it = None
    for _step in range(args.steps):
        if it is None:
            it = iter(loader)
        model(next(it)).sum().backward()
        optimizer.step()


def shuffle(net, rows, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    it = iter(loader)
    while True:
        try:
            batch = next(it)
        except StopIteration:
            it = iter(loader)
            batch = next(it)
        model(batch).sum().backward()
        optimizer.step()


def prepared(net, rows, args):
    from accelerate import Accelerator

    accelerator = Accelerator()
    loader = DataLoader(rows, sampler=DistributedSampler(rows))  # expect: TRL022
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    it = iter(loader)
    while True:
        try:
            batch = next(it)
        except StopIteration:
            it = iter(loader)
            batch = next(it)
        accelerator.backward(model(batch).sum())
        optimizer.step()


def phases(net, rows, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    for phase in ("train", "val"):
        if phase == "train":
            it = iter(loader)
            for _ in range(len(loader)):
                model(next(it)).sum().backward()
                optimizer.step()


def anew(net, rows, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    it, seed = None, 0
    while True:
        try:
            batch = next(it)
        except StopIteration:
            seed += 1
            loader = DataLoader(rows, sampler=DistributedSampler(rows, seed=seed))
            it = iter(loader)
            batch = next(it)
        model(batch).sum().backward()
        optimizer.step()


def evaluate(net, rows, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    it = iter(loader := DataLoader(rows, sampler=DistributedSampler(rows)))
    for _step in range(args.steps):
        try:
            batch = next(it)
        except StopIteration:
            it = iter(loader)
            batch = next(it)
        model(batch).sum()


class Keeps:
    """Reads a generator only to look at some batches."""

    def __init__(self, net, rows, others):
        dist.init_process_group("nccl")
        self.model = DDP(net)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
        self.shown = cycle(DataLoader(others, sampler=DistributedSampler(others)))

    def train(self):
        for batch in self.loader:
            self.model(batch).sum().backward()
            self.optimizer.step()
            self.model(next(self.shown))


def cycle(loader):
    while True:  # expect: TRL019
        yield from loader


class Trains(Keeps):
    """Trains on all that a generator yields."""

    def train(self):
        for _ in range(1000):
            self.model(next(self.shown)).sum().backward()
            self.optimizer.step()
