# Each iteration checks for its own file before any rank writes it; one file for all iterations is checked at any time.
import json
import os

import torch
import torch.distributed as dist
from transformers import Trainer


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


def resumed(folder, strict):
    if strict:
        path = os.path.join(json.loads(folder), "last.txt")
        if not os.path.exists(path):
            print("nothing in", path)
            return 0
        with open(path) as file:
            file.read()
        dist.barrier()
    return 1


def train_each(names, kind, trainer):
    folder = os.path.join(kind, "results")
    for name in names:
        place = os.path.join(folder, name)
        path = os.path.join(place, "results.json")
        if os.path.exists(path):
            continue
        trainer.train()
        with open(path, "w") as file:  # expect: TRL008
            file.write("done")
    path = os.path.join(folder, "all.json")
    if os.path.exists(path):
        return
    trainer.train()
    with open(path, "w") as file:  # expect: TRL008
        file.write("done")


if __name__ == "__main__":
    train_each(os.environ["NAMES"].split(), json.loads(os.environ["KIND"]), Trainer())
    resumed(os.environ["FOLDER"], True)
