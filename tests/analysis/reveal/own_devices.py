"""The device of this process is of one type on all ranks; its name and its index are rank-local."""

import os

import torch
import torch.distributed as dist
from accelerate import Accelerator

accelerator = Accelerator()
device = accelerator.device
reveal_rank(device.type)  # revealed: same
reveal_rank(device == "cpu")  # revealed: same
reveal_rank(torch.ones(2, device=device))  # revealed: same
reveal_rank(torch.zeros(2).to(device))  # revealed: same
reveal_rank(str(device))  # revealed: unknown
reveal_rank(f"log_{device}.txt")  # revealed: unknown
reveal_rank("log_{}".format(device))  # revealed: unknown
reveal_rank("log_%s" % device)  # revealed: unknown
reveal_rank("log_%s_%s" % ("of", device))  # revealed: unknown
reveal_rank(os.path.join("out", str(device)))  # revealed: unknown
reveal_rank(device.index)  # revealed: unknown

own = torch.device("cuda", dist.get_rank())
reveal_rank(f"log_{own}.txt")  # revealed: unknown
reveal_rank(own.type)  # revealed: same
named = torch.device(f"cuda:{dist.get_rank()}")
reveal_rank(f"log_{named}.txt")  # revealed: unknown
alike = torch.device("cuda")
reveal_rank(f"log_{alike}.txt")  # revealed: same


class Writer:
    def __init__(self):
        self.device = accelerator.device
        self.kind = accelerator.device.type

    def path(self):
        reveal_rank(f"log_{self.device}.txt")  # revealed: unknown
        reveal_rank(f"log_{self.kind}.txt")  # revealed: same


Writer().path()
