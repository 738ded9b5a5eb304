# Each round looks for a file of its own before anybody writes it; one file of all rounds is looked for at any time.
import os

import torch
import torch.distributed as dist


def encode(names, folder, rank, size):
    dist.init_process_group("nccl")
    for name in names:
        path = os.path.join(folder, f"{name}.pt")
        if not os.path.exists(path):
            rows = torch.ones(8, device=f"cuda:{rank % 8}")
            everything = [torch.empty_like(rows) for _ in range(size)]
            dist.all_gather(everything, rows)
            if rank == 0:
                torch.save(everything, path)


def encode_once(names, folder, rank, size):
    dist.init_process_group("nccl")
    path = os.path.join(folder, "all.pt")
    for _ in names:
        if not os.path.exists(path):
            rows = torch.ones(8, device=f"cuda:{rank % 8}")
            everything = [torch.empty_like(rows) for _ in range(size)]
            dist.all_gather(everything, rows)  # expect: TRL006
            if rank == 0:
                torch.save(everything, path)
