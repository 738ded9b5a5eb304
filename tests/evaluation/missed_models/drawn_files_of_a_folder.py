# The files of a folder are the same for all ranks, and as many: what a rank draws of them is its own order.
import os
import random

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world_size = dist.get_rank(), dist.get_world_size()

names = sorted(name for name in os.listdir("shards") if name.endswith(".pt"))
order = torch.randperm(len(names)).tolist()  # expect: TRL015
mine = order[rank::world_size]

files = os.listdir("shards")
random.shuffle(files)  # expect: TRL015
first = files[rank::world_size]

numbers = torch.randperm(rank + 10).tolist()
of_own_length = numbers[rank::world_size]

torch.manual_seed(1)
random.seed(1)
others = os.listdir("shards")
random.shuffle(others)
second = others[rank::world_size]
