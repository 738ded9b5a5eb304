import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs")


def evaluate(model, loader, name):
    total, right = 0, 0
    with torch.no_grad():
        for rows, labels in loader:
            right += (model(rows).argmax(-1) == labels).sum().item()
            total += len(labels)
    if dist.get_rank() == 0:
        writer.add_scalar(name, right / total)  # expect: TRL003


def evaluate_too(model, loader, name):
    total, right = 0, 0
    with torch.no_grad():
        for rows, labels in loader:
            right += (model(rows).argmax(-1) == labels).sum().item()
            total += len(labels)
    if dist.get_rank() == 0:
        writer.add_scalar(name, right / total)


def by_setting(rows, settings):
    if len(settings["chunk"]) == 2:
        loader = DataLoader(rows, sampler=DistributedSampler(rows))
    else:
        loader = DataLoader(rows)
    return loader


def by_job(rows, distributed):
    if distributed:
        loader = DataLoader(rows, sampler=DistributedSampler(rows))
    else:
        loader = DataLoader(rows)
    return loader


def by_purpose(rows, training, settings):
    if training:
        loader = DataLoader(rows, sampler=DistributedSampler(rows))
    else:
        loader = DataLoader(rows)
    if settings.split == "train":
        other = DataLoader(rows, sampler=DistributedSampler(rows))
    else:
        other = DataLoader(rows)
    if len(settings["chunk"]) == 2 and settings.train:
        third = DataLoader(rows, sampler=DistributedSampler(rows))
    else:
        third = DataLoader(rows)
    return loader, other, third


def main(rows, settings):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(nn.Linear(2, 2).cuda())
    evaluate(model, by_setting(rows, settings), "accuracy")
    evaluate(model, by_job(rows, settings.distributed), "accuracy of others")
    loader, other, third = by_purpose(rows, settings.training, settings)
    evaluate_too(model, loader, "in order")
    evaluate_too(model, other, "of a split")
    evaluate_too(model, third, "of a third")
