# An entry that is read by what each turn of a loop finds out may be that of this rank's sample.
import numpy as np
import torch
import torch.distributed as dist
from somewhere import number_of
from torch.utils.data import DataLoader, DistributedSampler

URLS = {"small": "small.pt", "large": "large.pt"}


def evaluate(model, dataset, rows, kind):
    loader = DataLoader(dataset, batch_size=1, sampler=DistributedSampler(dataset, shuffle=False))
    names = {}
    for row in rows:
        names[row["id"]] = row["file"].split(".")[0]
    parts = {1: "first", 2: "second"}
    for images, targets in loader:
        place = number_of(targets)
        found = model(images).numpy()
        np.savez(f"out/{names[place]}.npz", found=found)
        np.savez(f"out/{parts[place]}.npz", found=found)
        np.savez(f"out/{parts.get(number_of(images))}.npz", found=found)
        np.savez(f"out/{parts[1]}.npz", found=found)  # expect: TRL008
    # A parameter names one entry for the whole program.
    torch.save(model.state_dict(), URLS[kind])  # expect: TRL008


def main(model, dataset, rows, kind):
    dist.init_process_group("nccl")
    evaluate(model, dataset, rows, kind)
