"""A method of the model that moves a batch to the GPU it is given: each rank's validation has all rows."""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter
from zoo import make_model


@torch.no_grad()
def validate(gpu, model, loader):
    total = 0.0
    for batch in loader:
        inputs, targets = model.module.parse_batch(gpu, batch)
        total += torch.nn.functional.mse_loss(model(inputs), targets).item()
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows")
    args = parser.parse_args()
    gpu = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    rows = torch.load(args.rows)
    model = DistributedDataParallel(make_model().cuda(gpu), device_ids=[gpu])
    whole = DataLoader(rows, batch_size=8)
    share = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows, shuffle=False))
    writer = SummaryWriter() if dist.get_rank() == 0 else None
    loss, own = validate(gpu, model, whole), validate(gpu, model, share)
    if writer is not None:
        writer.add_scalar("validation", loss, 0)
        writer.add_scalar("share", own, 0)  # expect: TRL003


if __name__ == "__main__":
    main()
