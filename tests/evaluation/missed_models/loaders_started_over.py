import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from tqdm import tqdm

def main(net, rows, vrows, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, sampler=sampler)
    val = DataLoader(vrows, sampler=DistributedSampler(vrows))
    bar = tqdm(loader)
    it = iter(bar)
    vit = iter(val)
    step = 0
    while step < args.steps:
        try:
            batch = next(it)
        except StopIteration:
            bar = tqdm(loader)
            it = iter(bar)  # expect: TRL019
            batch = next(it)
        x, y = batch["x"].cuda(), batch["y"]
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 100 == 0:
            try:
                vb = next(vit)
            except StopIteration:
                vit = iter(val)
                vb = next(vit)
            loss = model(vb)  # nothing is trained on it

def by_none(net, rows, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    it = iter(loader)
    for step in range(args.steps):
        batch = next(it, None)
        if batch is None:
            it = iter(loader)  # expect: TRL019
            batch = next(it)
        model(batch).sum().backward()
        optimizer.step()

class T:
    def __init__(self, net, rows):
        dist.init_process_group("nccl")
        self.model = DDP(net)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.loader = DataLoader(rows, sampler=DistributedSampler(rows))
        self.it = iter(self.loader)

    def get(self):
        try:
            batch = next(self.it)
        except StopIteration:
            self.it = iter(self.loader)
            batch = next(self.it)
        return batch

    def train(self):
        for step in range(1000):
            batch = self.get()  # expect: TRL019
            self.model(batch).sum().backward()
            self.optimizer.step()

def hand(net, rows, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    for epoch in range(args.epochs):  # expect: TRL019
        it = iter(loader)
        for _ in range(len(loader)):
            model(next(it)).sum().backward()
            optimizer.step()
    for step in range(args.steps):  # expect: TRL019
        model(next(iter(loader))).sum().backward()
        optimizer.step()

def cyc(dl):
    g = iter(dl)
    while True:
        try:
            yield next(g)
        except StopIteration:
            g = iter(dl)  # expect: TRL019
            yield next(g)

def area(net, rows, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    g = cyc(DataLoader(rows, sampler=DistributedSampler(rows)))
    for step in range(args.steps):
        model(next(g)).sum().backward()
        optimizer.step()

def fetch(it, loader):
    try:
        batch = next(it)
    except StopIteration:
        it = iter(loader)
        batch = next(it)
    return batch, it

def two(net, rows, other, args):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    it = iter(loader)
    for batch in DataLoader(other):
        b, it = fetch(it, loader)  # expect: TRL019
        loss = model(batch).sum() + model(b).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
