# A module whose result nobody reads has nothing to send in DDP; with ZeRO 3, all ranks gather its parameters first.
import torch
import torch.distributed as dist
from accelerate import Accelerator, DeepSpeedPlugin
from torch import nn
from torch.utils.data import DataLoader


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 2)

    def forward(self, x):
        return self.layer(x)


def train_with_zero(data, width):
    accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(zero_stage=3))
    head = Head(width)
    optimizer = torch.optim.SGD(head.parameters())
    head, optimizer, loader = accelerator.prepare(head, optimizer, DataLoader(data, batch_size=4))
    for x, y in loader:
        if accelerator.is_main_process:
            head(x)  # expect: TRL016
        accelerator.backward(nn.functional.cross_entropy(head(x), y))
        optimizer.step()
        optimizer.zero_grad()


def train_with_ddp(data, width):
    head = nn.parallel.DistributedDataParallel(Head(width).cuda())
    optimizer = torch.optim.SGD(head.parameters())
    for x, y in DataLoader(data, batch_size=4, sampler=torch.utils.data.DistributedSampler(data)):
        if dist.get_rank() == 0:
            head(x)
        nn.functional.cross_entropy(head(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
