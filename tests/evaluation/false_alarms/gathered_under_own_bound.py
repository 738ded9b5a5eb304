# What is collected of gathered values is no share of this rank's data, even if the rank decides how much of it is.
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def gathered(values):
    parts = [torch.ones_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, values)
    return torch.cat(parts)


def validate(model, loader):
    scores, own = [], []
    for images, classes in loader:
        count = int(classes.max())
        score = model(images).mean()
        own.append(score.item())
        for each in gathered(score.unsqueeze(0)).cpu().numpy():
            scores.append(each)
    means, sums, shares = [], [], []
    for _ in range(count):
        means.append(np.array(scores).mean())
        sums.append(sum(scores))
        shares.append(np.array(own).mean())
    kept = []
    for index in range(count):
        kept.append(scores[index])
    return np.array(means), np.array(kept), sum(kept), np.array(shares)


def main(model, dataset):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    loader = DataLoader(dataset, batch_size=1, sampler=DistributedSampler(dataset, shuffle=False))
    model = DistributedDataParallel(model)
    means, kept, total, shares = validate(model, loader)
    if rank == 0:
        writer = SummaryWriter("log")
        writer.add_scalar("mean", means.mean(), 0)
        writer.add_scalar("kept", kept.mean(), 0)
        writer.add_scalar("sum", total, 0)
        writer.add_scalar("own", shares.mean(), 0)  # expect: TRL003
