# A setting with the number of GPUs decides whether there are other ranks to gather from.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def gather_all(tensors):
    gathered = []
    for tensor in tensors:
        parts = [torch.ones_like(tensor) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, tensor)
        gathered.append(parts)
    return [torch.cat(parts, dim=0) for parts in gathered]


def validate(model, loader, cfg):
    scores = torch.cat([model(images).mean(1) for images, _ in loader], dim=0)
    if cfg.NUM_GPUS > 1:
        scores = gather_all([scores])[0]
    return (scores >= 0.5).float().mean().item()


def validate_alone(model, loader, cfg):
    scores = torch.cat([model(images).mean(1) for images, _ in loader], dim=0)
    if cfg.TOP_K > 1:
        scores = gather_all([scores])[0]
    return (scores >= 0.5).float().mean().item()


def main(cfg, rows):
    dist.init_process_group("nccl")
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    accuracy, other = validate(model, loader, cfg), validate_alone(model, loader, cfg)
    if dist.get_rank() == 0:
        writer = SummaryWriter(cfg.OUT)
        writer.add_scalar("accuracy", accuracy)
        writer.add_scalar("other", other)  # expect: TRL003
