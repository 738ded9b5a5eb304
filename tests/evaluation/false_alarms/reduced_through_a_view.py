# A collective that changes a view of a tensor in place changes the tensor itself: a copy does not share its memory.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def total(tensor):
    dist.all_reduce(tensor)


dist.init_process_group("nccl")
WRITER = SummaryWriter("logs") if dist.get_rank() == 0 else None


def show(metrics):
    if dist.get_rank() == 0:
        for name, value in metrics.items():
            WRITER.add_scalar(name, value)


def train(rows, net):
    model = DDP(net)
    for images, labels in DataLoader(rows, sampler=DistributedSampler(rows)):
        errors = (model(images) - labels).abs()
        detached, held, flat, shaped, passed = (errors.mean() for _ in range(5))
        dist.all_reduce(detached.detach())
        dist.all_reduce(held.data)
        dist.all_reduce(flat.detach().view(-1))
        dist.all_reduce(shaped.view_as(labels))
        total(passed.detach())
        show({"detached": detached, "held": held, "flat": flat, "shaped": shaped, "passed": passed})


def train_parts(rows, net):
    model = DDP(net)
    for images, labels in DataLoader(rows, sampler=DistributedSampler(rows)):
        firsts = (model(images) - labels).abs()
        one = (model(images) - labels).abs()
        dist.all_reduce(firsts[:2])
        dist.all_reduce(one[0])
        show({"firsts": firsts.mean(), "one": one.mean()})


def train_named(rows, net):
    model = DDP(net)
    for images, labels in DataLoader(rows, sampler=DistributedSampler(rows)):
        loss = (model(images) - labels).abs().mean()
        view = loss.detach().view(-1)
        dist.all_reduce(view)
        show({"loss": loss})
        loss = (model(images) - labels).abs().mean()
        show({"loss": loss})  # expect: TRL003


def train_entries(rows, net):
    model = DDP(net)
    logs = {"loss": torch.zeros(1).cuda()}
    for images, labels in DataLoader(rows, sampler=DistributedSampler(rows)):
        logs["loss"] += (model(images) - labels).abs().mean()
    for key in sorted(logs.keys()):
        dist.all_reduce(logs[key].detach())
        logs[key] = float(logs[key] / dist.get_world_size())
    if dist.get_rank() == 0:
        show(logs)


def train_copies(rows, net):
    model = DDP(net)
    for images, labels in DataLoader(rows, sampler=DistributedSampler(rows)):
        cloned, moved, doubled, copied = ((model(images) - labels).abs().mean() for _ in range(4))
        dist.all_reduce(cloned.clone())
        dist.all_reduce(moved.detach().cpu())  # expect: TRL011
        dist.all_reduce(doubled * 2)
        copy = copied.detach().clone()
        dist.all_reduce(copy)
        show({"cloned": cloned})  # expect: TRL003
        show({"moved": moved})  # expect: TRL003
        show({"doubled": doubled})  # expect: TRL003
        show({"copied": copied, "copy": copy})  # expect: TRL003
