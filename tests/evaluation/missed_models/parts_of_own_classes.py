# Parts of a model of the project, called beside its wrapper.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Net(nn.Module):
    def __init__(self, dim, tower):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, dim, 3), nn.ReLU())
        self.head = nn.Linear(dim, 92)
        self.frozen = nn.Linear(dim, dim)
        for parameter in self.frozen.parameters():
            parameter.requires_grad = False
        self.tower = tower
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.head(self.backbone(x))


def loader_of(rows):
    return DataLoader(rows, sampler=DistributedSampler(rows))


def train(rows, tower):
    dist.init_process_group("nccl")
    model = DDP(Net(8, tower))
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader_of(rows):
        features = model.module.backbone(x)  # expect: TRL009
        loss = nn.functional.cross_entropy(model.module.head(features), y)  # expect: TRL009
        loss.backward()
        optimizer.step()


def train_right(rows, tower):
    dist.init_process_group("nccl")
    model = DDP(Net(8, tower))
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader_of(rows):
        x = model.module.tower(model.module.frozen(x))
        loss = model.module.criterion(model(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.module.head(model.module.backbone(x))
