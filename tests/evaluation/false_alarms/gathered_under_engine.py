# The model that a DeepSpeed engine runs gathers features in its forward: its loss is that of all ranks.
import deepspeed
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Everyone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, features):
        ctx.rows = features.shape[0]
        parts = [torch.zeros_like(features) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, features)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, gradient):
        first = dist.get_rank() * ctx.rows
        return gradient[first : first + ctx.rows]


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.images, self.texts = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, images, texts):
        one, other = Everyone.apply(self.images(images)), Everyone.apply(self.texts(texts))
        scores = one @ other.T
        return {"match": nn.functional.cross_entropy(scores, torch.arange(len(scores), device=scores.device))}


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, images, texts):
        return {"match": (self.layer(images) - texts).square().mean()}


class Training:
    def __init__(self, engine, loader):
        self.model = engine
        self.loader = loader
        self.writer = SummaryWriter("runs") if dist.get_rank() == 0 else None

    def train(self):
        for step, (images, texts) in enumerate(self.loader):
            output = self.model(images, texts)
            self.model.backward(output["match"])
            self.model.step()
            if dist.get_rank() == 0:
                self.writer.add_scalar("match", output["match"].item(), step)


class OwnTraining:
    def __init__(self, engine, loader):
        self.model = engine
        self.loader = loader
        self.writer = SummaryWriter("runs") if dist.get_rank() == 0 else None

    def train(self):
        for step, (images, texts) in enumerate(self.loader):
            output = self.model(images, texts)
            self.model.backward(output["match"])
            self.model.step()
            if dist.get_rank() == 0:
                self.writer.add_scalar("match", output["match"].item(), step)  # expect: TRL003


def main(pairs):
    deepspeed.init_distributed()
    towers, _, _, _ = deepspeed.initialize(model=Towers(), config="ds.json")
    Training(towers, DataLoader(pairs, sampler=DistributedSampler(pairs))).train()
    regression, _, _, _ = deepspeed.initialize(model=Regression(), config="ds.json")
    OwnTraining(regression, DataLoader(pairs, sampler=DistributedSampler(pairs))).train()
