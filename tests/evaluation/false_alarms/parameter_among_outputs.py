# A known forward returns a parameter with its results: all ranks have learned the same one, whatever its name.
import os

import torch
import torch.distributed as dist
import wandb
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Towers(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.left, self.right = nn.Linear(512, width), nn.Linear(768, width)
        self.heat = nn.Parameter(torch.tensor(2.6))
        self.last = None

    def forward(self, image, text):
        heat = self.heat.clamp(max=4.6)
        return self.left(image), self.right(text), heat, torch.exp(self.heat)


class Remembering(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.left = nn.Linear(512, width)
        self.heat = nn.Parameter(torch.tensor(2.6))
        self.last = None

    def forward(self, image):
        features = self.left(image)
        self.last = features.norm()
        return features, self.last.sqrt(), self.heat * features.mean(), self.heat.exp()


def train(data):
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    towers = DistributedDataParallel(Towers(64).cuda(local), device_ids=[local])
    remembering = DistributedDataParallel(Remembering(64).cuda(local), device_ids=[local])
    optimizer = torch.optim.AdamW([*towers.parameters(), *remembering.parameters()])
    for image, text in DataLoader(data, 8, sampler=DistributedSampler(data)):
        left, right, heat, largest = towers(image.cuda(local), text.cuda(local))
        features, norm, warmth, other = remembering(image.cuda(local))
        (heat * (left @ right.T + features @ right.T).mean()).backward()
        optimizer.step()
        if dist.get_rank() == 0:
            wandb.log({"heat": heat.item(), "largest": largest.item(), "of the other": other.item()})
            wandb.log({"norm": norm.item()})  # expect: TRL003
            wandb.log({"warmth": warmth.item()})  # expect: TRL003


train(torch.load("data.pt"))
