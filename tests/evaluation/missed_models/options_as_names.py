# All options become names of the module: what they are is the same on all ranks, unless one is the rank.
import argparse

import torch
from accelerate import Accelerator

accelerator = Accelerator()
parser = argparse.ArgumentParser()
parser.add_argument("--folder", default="runs")
parser.add_argument("--saves", type=bool, default=True)
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
for name in vars(args):
    globals()[name] = getattr(args, name)

model = accelerator.prepare(torch.nn.Linear(3, 4))


def save(path):
    torch.save(accelerator.unwrap_model(model).state_dict(), path)  # expect: TRL008


def keep(path):
    torch.save(accelerator.unwrap_model(model).state_dict(), path)


for epoch in range(10):
    if saves and epoch % 2 == 0:
        save(f"{folder}/last.pth")
    if local_rank == 0:
        keep(f"{folder}/kept.pth")
