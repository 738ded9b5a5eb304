# Torch takes a loader that leaves the order to its sampler.
import argparse
import os

import torch
from options import model, optimizer, rows
from torch.utils.data import DataLoader, DistributedSampler

parser = argparse.ArgumentParser()
for option in ("--cache", "--out", "--path"):
    parser.add_argument(option)
parser.add_argument("--ddp", action="store_true")
parser.add_argument("--epochs", type=int)
args = parser.parse_args()

if args.ddp:
    torch.distributed.init_process_group("nccl")

if args.ddp:
    loader = DataLoader(rows, batch_size=8, shuffle=False, sampler=DistributedSampler(rows))
else:
    loader = DataLoader(rows, batch_size=8, shuffle=True)

os.mkdir(args.out)  # expect: TRL008
for _ in range(args.epochs):  # expect: TRL019
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
torch.save(model.state_dict(), args.path)  # expect: TRL008
