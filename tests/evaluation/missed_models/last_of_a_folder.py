# The last checkpoint of a folder, if there is one: the name of its file is None before the folder is read.
import glob
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def found_in(folder, prefix):
    files = sorted(glob.glob(os.path.join(folder, prefix + "????????")))
    return files[-1] if files else None


def of_the_wrapper(folder):
    net = torch.nn.Linear(2, 2).cuda()
    last = None
    if os.path.isdir(folder):
        last = found_in(folder, "g_")
    if last is not None:
        net.load_state_dict(torch.load(last)["net"])  # expect: TRL025
    net = DDP(net)
    for step in range(100):
        net(torch.ones(2).cuda()).sum().backward()
        if dist.get_rank() == 0:
            torch.save({"net": net.state_dict()}, f"{folder}/g_{step:08d}")


def of_the_module(folder):
    net = torch.nn.Linear(2, 2).cuda()
    last = None
    if os.path.isdir(folder):
        last = found_in(folder, "g_")
    if last is not None:
        net.load_state_dict(torch.load(last)["inner"])
    net = DDP(net)
    for step in range(100):
        net(torch.ones(2).cuda()).sum().backward()
        if dist.get_rank() == 0:
            torch.save({"inner": net.module.state_dict()}, f"{folder}/g_{step:08d}")


def of_elsewhere(folder, start, given):
    net = torch.nn.Linear(2, 2).cuda()
    # What it starts from is of another run, or of another program.
    first = None
    if given:
        first = start
    if first is not None:
        net.load_state_dict(torch.load(first)["other"])
    net = DDP(net)
    for step in range(100):
        net(torch.ones(2).cuda()).sum().backward()
        if dist.get_rank() == 0:
            torch.save({"other": net.state_dict()}, f"{folder}/g_{step:08d}")


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
of_the_wrapper("out")
of_the_module("out")
of_elsewhere("out", "start.pt", True)
