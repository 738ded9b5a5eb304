# Known forwards return a dict with the features: the entries computed from parameters alone are the same on all ranks.
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
import wandb
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Turning(nn.Module):
    def __init__(self, width, learns=True, warmth=0.5):
        super().__init__()
        self.body = nn.Linear(512, width)
        self.heat = nn.Parameter(torch.tensor(2.6))
        self.scale = nn.Parameter(torch.ones(1))
        self.learns = learns
        self.warmth = warmth
        self.last = None

    def get_heat(self):
        return F.softplus(self.heat) + 0.5

    def get_turned(self, features):
        return self.scale * features.norm()

    def forward(self, image):
        features = self.scale * self.body(image)
        self.last = features.norm()
        heat = self.get_heat() if self.learns else self.warmth
        noise = torch.rand(1) * self.scale
        seen = self.scale.clone()
        seen = torch.maximum(seen, features.max())
        extra = {
            "norm": features.norm(dim=1),
            "heat": heat.item() if isinstance(heat, torch.Tensor) else heat,
            "scale": self.scale.item(),
            "warmth": self.warmth,
            "scaled": (self.scale * features).mean(),
            "turned": self.get_turned(features),
            "last": self.last.sqrt(),
            "noise": noise,
            "seen": seen,
        }
        return features, extra


class Changing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(512, width)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, image):
        features = self.scale * self.body(image)
        extra = {"scale": self.scale.item()}
        extra["scale"] = features.norm().item()
        return features, image, extra


class Whole(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(512, width)
        self.pull = nn.Parameter(torch.ones(1))

    def forward(self, image):
        features = self.body(image)
        push = self.pull.abs()
        return {"features": features, "pull": self.pull.exp(), "pulled": self.pull * features.mean(), "push": push}


class Filling(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(512, width)

    def forward(self, image):
        found = {}
        found["features"] = self.body(image)
        found["push"] = found["features"].norm()
        return found


class Following(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(512, width)
        self.mean = nn.Parameter(torch.ones(1), requires_grad=False)
        self.peak = nn.Parameter(torch.ones(1), requires_grad=False)
        self.slope = nn.Parameter(torch.ones(1))
        self.slope.data.fill_(2.0)

    def follow(self, features):
        self.mean.data.mul_(0.9).add_(0.1 * features.mean())
        self.peak.data = features.max()

    def forward(self, image):
        features = self.body(image)
        self.follow(features.detach())
        return {"features": features, "mean": self.mean.abs(), "peak": self.peak.abs(), "slope": self.slope.abs()}


def entries_of(extra):
    if isinstance(extra, dict):
        return extra
    if isinstance(extra, (list, tuple)) and len(extra) > 0 and isinstance(extra[0], dict):
        return extra[0]
    return None


def train(data):
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    turning = DistributedDataParallel(Turning(64).cuda(local), device_ids=[local])
    changing = DistributedDataParallel(Changing(64).cuda(local), device_ids=[local])
    whole = DistributedDataParallel(Whole(64).cuda(local), device_ids=[local])
    following = DistributedDataParallel(Following(64).cuda(local), device_ids=[local])
    filling = DistributedDataParallel(Filling(64).cuda(local), device_ids=[local])
    optimizer = torch.optim.AdamW(
        [
            *turning.parameters(),
            *changing.parameters(),
            *whole.parameters(),
            *filling.parameters(),
            *following.parameters(),
        ]
    )
    for image in DataLoader(data, 8, sampler=DistributedSampler(data)):
        features, extra = turning(image.cuda(local))
        others, _, changed = changing(image.cuda(local))
        entries = entries_of(extra)
        outputs = whole(image.cuda(local))
        followed = following(image.cuda(local))
        filled = filling(image.cuda(local))
        (features @ others.T + filled["features"] + followed["features"] + outputs["features"]).mean().backward()
        optimizer.step()
        if dist.get_rank() == 0:
            wandb.log({"heat": extra["heat"]})
            if entries is not None:
                wandb.log({"scale": float(entries["scale"]), "warmth": entries["warmth"]})
                wandb.log({"norm": entries["norm"].mean().item()})  # expect: TRL003
            wandb.log({"scaled": extra["scaled"].item()})  # expect: TRL003
            wandb.log({"turned": extra["turned"].item()})  # expect: TRL003
            wandb.log({"last": extra["last"].item()})  # expect: TRL003
            wandb.log({"noise": extra["noise"].item()})  # expect: TRL003
            wandb.log({"seen": extra["seen"].item()})  # expect: TRL003
            wandb.log({"changed": changed["scale"]})  # expect: TRL003
            wandb.log({"pull": outputs["pull"].item()})
            wandb.log({"pulled": outputs["pulled"].item()})  # expect: TRL003
            wandb.log({"slope": followed["slope"].item()})
            wandb.log({"mean": followed["mean"].item()})  # expect: TRL003
            wandb.log({"peak": followed["peak"].item()})  # expect: TRL003
            wandb.log({"push": filled["push"].item()})  # expect: TRL003


train(torch.load("data.pt"))
