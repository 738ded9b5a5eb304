"""Evaluations on loaders of libraries: each rank has its own share, if the loader is told so, and may reduce."""

import os

import timm
import torch
import torch.distributed as dist
import webdataset as wds
from timm.data import create_loader
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs") if int(os.environ["RANK"]) == 0 else None


def accuracy_of(model, loader):
    right, count = torch.zeros((), device="cuda"), 0
    for images, labels in loader:
        right += (model(images).argmax(-1) == labels).sum()
        count += len(labels)
    return right / count


def reduced(value):
    dist.all_reduce(value)
    return value / dist.get_world_size()


def main(args, rows):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(timm.create_model(args.model).cuda())
    shared = create_loader(rows, 224, 8, distributed=args.distributed)
    whole = create_loader(rows, 224, 8)
    images = wds.WebDataset(args.urls, nodesplitter=wds.split_by_node).decode("pil").to_tuple("jpg", "cls")
    of_all = reduced(accuracy_of(model, shared)).item()
    own = accuracy_of(model, shared).item()
    own_images = accuracy_of(model, DataLoader(images.batched(8), batch_size=None)).item()
    of_whole = accuracy_of(model, whole).item()
    if dist.get_rank() == 0:
        writer.add_scalar("accuracy", of_all, 0)
        writer.add_scalar("accuracy of the whole", of_whole, 0)
        writer.add_scalar("own accuracy", own, 0)  # expect: TRL003
        writer.add_scalar("accuracy of own images", own_images, 0)  # expect: TRL003
