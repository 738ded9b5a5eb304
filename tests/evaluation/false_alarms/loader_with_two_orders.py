# Torch refuses a loader that shuffles and has a sampler: on several processes, nothing gets past it.
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

os.mkdir(args.cache)  # expect: TRL008

if args.ddp:
    loader = DataLoader(rows, batch_size=8, shuffle=True, sampler=DistributedSampler(rows))
else:
    loader = DataLoader(rows, batch_size=8, shuffle=True)

os.mkdir(args.out)
for _ in range(args.epochs):
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
torch.save(model.state_dict(), args.path)
