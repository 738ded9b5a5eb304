# One function trains and validates: only where it trains does each rank have batches of its own.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Rows(Dataset):
    def __init__(self, split):
        with open(split) as file:
            self.rows = [line.split() for line in file]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def build(split):
    rows = Rows(split)
    sampler = DistributedSampler(rows) if split == "train" else None
    return DataLoader(rows, sampler=sampler)


def by_flag(model, loader, opt, training):
    hits = 0
    for x, y in loader:
        out = model(x)
        loss = (out - y).mean()
        if training:
            opt.zero_grad()
            loss.backward()
            opt.step()
        hits += (out.argmax(1) == y).sum()
    return hits / len(loader)


def by_phase(model, loader, opt, phase):
    hits = 0
    for x, y in loader:
        out = model(x)
        loss = (out - y).mean()
        if phase != "train":
            hits += (out.argmax(1) == y).sum()
        else:
            opt.zero_grad()
            loss.backward()
            opt.step()
            hits += (out.argmax(1) == y).sum()
    return hits / len(loader)


class Meter:
    def __init__(self):
        self.hits = torch.zeros(3).cuda()
        self.losses = []

    def update(self, hits, loss):
        self.hits.index_add_(0, hits, hits)
        self.losses.append(loss)

    def average(self):
        return self.hits.mean()


def metered(model, loader, opt, training):
    meter = Meter()
    for x, y in loader:
        out = model(x)
        loss = (out - y).mean()
        if training:
            opt.zero_grad()
            loss.backward()
            opt.step()
        meter.update((out.argmax(1) == y).sum(), loss.detach())  # expect: TRL003
    return sum(meter.losses) / len(meter.losses), meter.average()


dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
rank = dist.get_rank()
model = DistributedDataParallel(torch.nn.Linear(3, 3).cuda())
opt = torch.optim.SGD(model.parameters(), 0.1)
train = build("train")
val = build("val")
writer = SummaryWriter("runs") if rank == 0 else None
for epoch in range(3):
    train.sampler.set_epoch(epoch)
    a = by_flag(model, train, opt, True)
    c = by_phase(model, train, opt, "train")
    e, f = metered(model, train, opt, True)
    with torch.no_grad():
        b = by_flag(model, val, opt, False)
        d = by_phase(model, val, opt, "val")
        g, h = metered(model, val, opt, False)
    if rank == 0:
        writer.add_scalar("flag/train", a, epoch)  # expect: TRL003
        writer.add_scalar("flag/val", b, epoch)
        writer.add_scalar("phase/train", c, epoch)  # expect: TRL003
        writer.add_scalar("phase/val", d, epoch)
        writer.add_scalar("metered/train", e, epoch)
        writer.add_scalar("metered/hits", f, epoch)  # expect: TRL003
        writer.add_scalar("metered/val", g, epoch)
        writer.add_scalar("metered/val hits", h, epoch)
