# The scaler of timm runs the backward pass, and takes the step.
import torch.distributed as dist
from timm.utils import NativeScaler
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def train_epoch(model, loader, optimizer, criterion, scaler):
    for batch, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(batch), target)
        scaler(loss, optimizer, parameters=model.parameters())


def main(rows, model, optimizer, criterion):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    scaler = NativeScaler()
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    for _ in range(10):  # expect: TRL019
        train_epoch(model, loader, optimizer, criterion, scaler)
