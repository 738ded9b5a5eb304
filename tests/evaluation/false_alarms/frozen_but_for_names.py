"""All parameters are frozen but those with some words in their names, and a method uses only the others."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Towers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = torch.nn.Linear(4, 4)
        self.text = torch.nn.Linear(4, 4)
        self.logit_scale = torch.nn.Parameter(torch.ones([]))

    @property
    def dtype(self):
        return self.visual.weight.dtype

    def encode_text(self, x):
        return self.text(x.to(self.dtype))

    def encode_image(self, x):
        return self.visual(x)

    def forward(self, image):
        return self.visual(image)


def train(model, loader, optimizer):
    for _, text in loader:
        features = model.module.encode_text(text)
        loss = (model.module.logit_scale * features).sum()
        loss.backward()
        optimizer.step()


def train_images(model, loader, optimizer):
    for image, _ in loader:
        loss = model.module.encode_image(image).sum()  # expect: TRL009
        loss.backward()
        optimizer.step()


def train_whole(model, loader, optimizer):
    for image, _ in loader:
        loss = model.module(image).sum()  # expect: TRL009
        loss.backward()
        optimizer.step()


def train_text(model, loader, optimizer):
    for _, text in loader:
        loss = model.module.encode_text(text).sum()  # expect: TRL009
        loss.backward()
        optimizer.step()


def main(rank, data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = Towers().eval()
    for name, param in model.named_parameters():
        if "visual" not in name and "logit_scale" not in name:
            param.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters())
    model = DDP(model.cuda())
    loader = DataLoader(data, sampler=DistributedSampler(data))
    train(model, loader, optimizer)
    train_images(model, loader, optimizer)
    train_whole(model, loader, optimizer)


def with_all(rank, data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = Towers()
    optimizer = torch.optim.AdamW(model.parameters())
    model = DDP(model.cuda())
    train_text(model, DataLoader(data, sampler=DistributedSampler(data)), optimizer)


def with_pieces(rank, data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = Towers()
    for name, param in model.named_parameters():
        param.requires_grad = "bias" in name
    optimizer = torch.optim.AdamW(model.parameters())
    model = DDP(model.cuda())
    for _, text in DataLoader(data, sampler=DistributedSampler(data)):
        loss = model.module.encode_text(text).sum()  # expect: TRL009
        loss.backward()
        optimizer.step()
