"""A right training loop that logs in the way that its argument names."""

import resource
import sys
import time

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def mean(value):
    value = value.detach().clone()
    dist.all_reduce(value)
    return value.item() / dist.get_world_size()


def on_main(values):
    if dist.get_rank() == 0:
        wandb.log(values)


def extra_on_main(loss, batch):
    on_main({"first": 1.0})
    wandb.log({"loss": mean(loss)})


def clock(loss, batch):
    wandb.log({"loss": mean(loss), "step_time": time.perf_counter(), "perf/tokens_per_second": dist.get_rank()})


def machine():
    """Values that differ between ranks as they do between runs, under neutral names."""
    return {"dt": time.perf_counter(), "rss_gb": resource.getrusage(resource.RUSAGE_SELF).ru_utime}


LOGS = {
    "mean": lambda loss, batch: wandb.log({"loss": mean(loss)}),
    "share": lambda loss, batch: wandb.log({"loss": loss.item()}),
    "mean on main": lambda loss, batch: on_main({"loss": mean(loss)}),
    "share on main": lambda loss, batch: on_main({"loss": loss.item()}),
    "extra on main": extra_on_main,
    "clock": clock,
    "machine": lambda loss, batch: wandb.log({"loss": mean(loss), **machine()}),
    "machine and share": lambda loss, batch: wandb.log({"loss": loss.item(), **machine()}),
    "nan": lambda loss, batch: wandb.log({"ratio": float("nan")}),
    "nan on one": lambda loss, batch: wandb.log({"ratio": float("nan") if dist.get_rank() else 1.0}),
    "text": lambda loss, batch: wandb.log({"name": "a" * dist.get_rank(), "rows": batch, "none": None}),
}


def samples(rows, by_hand):
    """The rows of this rank, as a sampler picks them or as the script does."""
    if by_hand:
        return DataLoader(rows[dist.get_rank() :: dist.get_world_size()], batch_size=2)
    return DataLoader(rows, batch_size=2, sampler=DistributedSampler(rows))


def main(how, by_hand=False):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in samples(torch.arange(32.0).reshape(8, 4) / 32, by_hand):
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        LOGS[how](loss, batch)  # log


main(*sys.argv[1:])
