# A loop with gradients off evaluates, also if a function that it calls takes the steps of a schedule of noise.
import os

import torch
import torch.distributed as dist
from mine import network, rows, schedule
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def sample(model, size):
    image = torch.randn(size, device="cuda")
    for time in schedule.timesteps:
        image = schedule.step(model(image, time), time, image)
    return image


@torch.no_grad()
def evaluate(model, loader):
    total = 0
    for step, images in enumerate(loader):
        total += (sample(model, images.shape) - images.cuda()).pow(2).mean().item()
        if step % 10 == 0:
            print(f"{step} of {len(loader)}")
    if dist.get_rank() == 0:
        print(f"error {total / len(loader):.3f}")  # expect: TRL003


@torch.no_grad()
def evaluate_all(model, loader):
    total = torch.zeros(1, device="cuda")
    for step, images in enumerate(loader):
        total += (sample(model, images.shape) - images.cuda()).pow(2).mean()
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        print(f"error {total.item() / len(loader) / dist.get_world_size():.3f}")


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
model = DistributedDataParallel(network().cuda())
evaluate(model, loader)
evaluate_all(model, loader)
