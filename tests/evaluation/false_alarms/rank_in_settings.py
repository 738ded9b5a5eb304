"""A setting that a program sets by its rank is no longer the same on all ranks."""

import argparse
import os
from pathlib import Path

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter


def is_first(settings):
    return settings.rank == 0


def main(model):
    settings = argparse.ArgumentParser().parse_args()
    settings.rank, settings.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    settings.writes = settings.curves and is_first(settings)
    if settings.writes:
        SummaryWriter(settings.folder)
    if settings.curves:
        SummaryWriter(settings.folder)  # expect: TRL008
    Path(settings.folder, f"part_{settings.gpu}.txt").write_text("done")  # the number that a helper has put there
    Path(settings.folder, "whole.txt").write_text("done")  # expect: TRL008
    return model


if __name__ == "__main__":
    main(None)
