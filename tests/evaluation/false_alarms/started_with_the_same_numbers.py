# A network that is compared with a wrapped one and starts with its numbers is no part of it: nobody waits for it.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
rank = dist.get_rank()


def by_copying():
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.SyncBatchNorm(6))
    reference = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6))
    with torch.no_grad():
        reference[0].weight.copy_(model[0].weight)
    reference.to("cuda")
    model = DistributedDataParallel(model.cuda())
    data = torch.randn(8, 3, 8, 8, device="cuda")
    model(data).sum().backward()
    if rank == 0:
        out = reference(data.detach())
        out.backward(torch.ones_like(out))


def by_data():
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.SyncBatchNorm(6))
    reference = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6))
    reference[0].weight.data.copy_(model[0].weight.data)
    model = DistributedDataParallel(model.cuda())
    data = torch.randn(8, 3, 8, 8, device="cuda")
    model(data).sum().backward()
    if rank == 0:
        out = reference(data.detach())
        out.sum().backward()


def by_state():
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.SyncBatchNorm(6))
    reference = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6))
    reference.load_state_dict(model.state_dict())
    model = DistributedDataParallel(model.cuda())
    data = torch.randn(8, 3, 8, 8, device="cuda")
    model(data).sum().backward()
    if rank == 0:
        out = reference(data)
        out.sum().backward()


def of_both():
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.SyncBatchNorm(6))
    reference = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6))
    with torch.no_grad():
        reference[0].weight.copy_(model[0].weight)
    model = DistributedDataParallel(model.cuda())
    data = torch.randn(8, 3, 8, 8, device="cuda")
    target = model(data)
    if rank == 0:
        loss = (reference(data) - target).square().sum()
        loss.backward()  # expect: TRL006


def holds_it():
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.SyncBatchNorm(6))
    model = DistributedDataParallel(model.cuda())
    reference = nn.Sequential(nn.Conv2d(3, 6, 3))
    reference.append(model)
    data = torch.randn(8, 3, 8, 8, device="cuda")
    model(data).sum().backward()
    if rank == 0:
        reference(data).sum().backward()  # expect: TRL006


by_copying()
by_data()
by_state()
of_both()
holds_it()
