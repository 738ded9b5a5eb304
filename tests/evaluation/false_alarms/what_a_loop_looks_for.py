# A barrier in what stands in for something that a loop has not found is reached only if it has not.
import os
from datetime import datetime

import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


def now():
    dist.barrier()
    return datetime.now().strftime("%H-%M")


def writer_beside(logger):
    name = None
    for handler in logger.handlers:
        if hasattr(handler, "baseFilename"):
            name = os.path.basename(handler.baseFilename)
            break
    if name is None:
        name = now()
    return SummaryWriter(name)


def writer_of_now():
    name = None
    if name is None:
        name = now()
    return SummaryWriter(name)


def writer_of(names):
    shown = None
    for each in names:
        print(each)
    if shown is None:
        shown = now()
    return SummaryWriter(shown)


class Trainer:
    def __init__(self, logger):
        dist.init_process_group("nccl")
        self.rank = dist.get_rank()
        if self.rank == 0:
            self.writer = writer_beside(logger)

    def start(self):
        if self.rank == 0:
            self.writer = writer_of_now()  # expect: TRL006

    def restart(self, names):
        if self.rank == 0:
            self.writer = writer_of(names)  # expect: TRL006
