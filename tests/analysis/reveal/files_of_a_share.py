"""What is in a file that this rank has chosen is its own; what is in one that it has named, a checkpoint, may not be."""

import json
import os
from glob import glob

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

distributed.init_process_group("nccl")
rank, world = distributed.get_rank(), distributed.get_world_size()
args = read_arguments()
model = DistributedDataParallel(nn.Linear(2, 2))

files = sorted(glob("rows/*.pt"))
for file in files[rank::world]:
    reveal_rank(torch.load(file))  # revealed: local(rank)
    reveal_rank(model(torch.load(file)))  # revealed: local(data, rank)
    reveal_rank(json.load(open(file)))  # revealed: local(rank)
chunk = len(files) // world
for file in files[rank * chunk : (rank + 1) * chunk]:
    reveal_rank(model(torch.load(file)))  # revealed: local(data, rank)
for name in args.files[rank::world]:
    reveal_rank(model(torch.load(os.path.join("rows", name))))  # revealed: unknown
for name in os.listdir("rows")[rank::world]:
    reveal_rank(model(torch.load(os.path.join("rows", name))))  # revealed: local(data, rank)
for step, file in enumerate(files):
    if step % world != rank:
        continue
    reveal_rank(model(torch.load(file)))  # revealed: local(data, rank)
for file in files:
    reveal_rank(torch.load(file))  # revealed: unknown
reveal_rank(torch.load(f"state_{rank}.pt"))  # revealed: unknown
reveal_rank(torch.load(args.folder + f"/state_{rank}.pt"))  # revealed: unknown
state = args.folder + f"/state_{rank}.pt"
reveal_rank(torch.load(state))  # revealed: unknown
mine = files[rank]
reveal_rank(torch.load(mine))  # revealed: local(rank)
