# What a model's forward returns beside its outputs are timings, of which each rank has its own: nothing to reduce.
import time

import numpy as np
import torch
import torch.distributed as dist
from somewhere import Head
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
        self.head = Head()

    def forward(self, rows):
        start = time.time()
        rows = self.body(rows["x"])
        body_time = time.time() - start
        if not self.training:
            start = time.time()
            rows, head_time = self.head(rows)
            rest_time = time.time() - start
            return rows, {"loss": rows.sum()}, [body_time, rest_time - head_time, head_time]
        return {"loss": rows.sum()}


def one_batch(model, rows):
    outputs, losses, times = model({"x": rows["x"].cuda()})
    return outputs, losses, times


def evaluate(model, loader):
    bodies, heads, losses, means = [], [], [], []
    with torch.no_grad():
        for rows in loader:
            outputs, found, times = one_batch(model, rows)
            bodies.append(times[0])
            heads.append(times[2])
            losses.append(found["loss"].item())
            means.append(outputs.mean().item())
    body, head, loss, mean = (np.array(bodies).mean(), np.array(heads).mean(), np.mean(losses), np.mean(means))
    if dist.get_rank() == 0:
        writer = SummaryWriter()
        writer.add_scalar("val/body_speed", body, 0)
        writer.add_scalar("val/head_speed", head, 0)
        writer.add_scalar("val/loss", loss, 0)  # expect: TRL003
        writer.add_scalar("val/mean", mean, 0)  # expect: TRL003


def main(rows):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    evaluate(DDP(Net().cuda()), loader)
