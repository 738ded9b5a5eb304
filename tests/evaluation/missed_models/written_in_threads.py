# A thread runs its function in the process that starts it, on each rank; one that never ends is no part of the program.
import json
import os
from threading import Thread

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def save(state, path):
    torch.save(state, path)  # expect: TRL008


def save_own(state, path):
    torch.save(state, path)


def write_on_first(numbers, path):
    if dist.get_rank() == 0:
        with open(path, "w") as file:
            json.dump(numbers, file)


def watch():
    while True:
        with open("alive.txt", "w") as file:
            file.write("yes")


def main(rows, model):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    loader = DataLoader(rows, 8, sampler=DistributedSampler(rows))
    model = DistributedDataParallel(model.cuda())
    Thread(target=watch, daemon=True).start()
    for batch in loader:
        model(batch).backward()
    state = model.module.state_dict()
    Thread(target=save, args=(state, "model.pt")).start()
    Thread(target=write_on_first, args=({"rows": len(rows)}, "numbers.json")).start()
    if dist.get_rank() == 0:
        Thread(target=save_own, args=(state, "own.pt")).start()
    torch.save(state, "last.pt")  # expect: TRL008
