# A program wraps a part of a model: whoever runs the model, or a method of it, runs the wrapper.
import torch
import torch.distributed as dist
from somewhere import load
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.unet = load("unet")
        self.decoder = load("decoder")

    def forward(self, x):
        return self.denoised(x)

    def denoised(self, x):
        return self.unet(x)

    def decode(self, x):
        return self.decoder(x)

    def loss_of(self, x):
        loss = self.unet(x).mean()
        if loss.item() > 2:
            print("too large")
            return None
        return loss

    def whole_loss_of(self, x):
        if x is None:
            return None
        loss = self.unet(x).mean()
        if loss.item() > 2:
            loss = loss * 0
        return loss

    def agreed_loss_of(self, x):
        loss = self.unet(x).mean()
        largest = loss.detach().clone()
        dist.all_reduce(largest)
        if largest.item() > 2:
            return None
        return loss


def train(rows):
    dist.init_process_group("nccl")
    model = Generator()
    model.unet = FSDP(model.unet)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    for batch in loader:
        loss = model.loss_of(batch)
        if loss is None:
            continue  # expect: TRL006
        loss.backward()
    for batch in loader:
        loss = model.whole_loss_of(batch)
        if loss is None:
            continue
        loss.backward()
    for batch in loader:
        loss = model.agreed_loss_of(batch)
        if loss is None:
            continue
        loss.backward()


def show(rows):
    dist.init_process_group("nccl")
    model = Generator()
    model.unet = FSDP(model.unet)
    with torch.no_grad():
        if dist.get_rank() == 0:
            print(model(rows[0]))  # expect: TRL016
        if dist.get_rank() == 0:
            print(model.denoised(rows[0]))  # expect: TRL016
        if dist.get_rank() == 0:
            print(model.decode(rows[0]))


def show_another(rows):
    dist.init_process_group("nccl")
    model, other = Generator(), Generator()
    model.unet = FSDP(model.unet)
    with torch.no_grad():
        if dist.get_rank() == 0:
            print(other(rows[0]))


def train_by_ddp(rows):
    dist.init_process_group("nccl")
    model = Generator()
    model.unet = DDP(model.unet)
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        loss = model(batch).mean()
        if loss.item() > 2:
            continue  # expect: TRL006
        loss.backward()


def train_another_part(rows):
    dist.init_process_group("nccl")
    model = Generator()
    model.unet = DDP(model.unet)
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        loss = model.decode(batch).mean()
        if loss.item() > 2:
            continue
        loss.backward()
