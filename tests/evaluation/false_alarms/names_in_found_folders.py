# A folder that each rank finds by listing another one is the same for all. A file in it may be each rank's own: its
# name is made of something unknown.
import glob
import os

import torch
import torch.distributed as dist
from jobs import numbers_from_environment


def main(results):
    dist.init_process_group("nccl")
    number, _ = numbers_from_environment()
    folders = sorted(glob.glob("out/*"))
    newest, before = folders[-1], folders[0]
    torch.save(results, os.path.join(newest, f"{before}_{number}.pt"))
    torch.save(results, os.path.join(newest, f"{before}_of_all.pt"))  # expect: TRL008
    own = f"{number}_{before}.pt"
    torch.save(results, f"{newest}/{own}")
    torch.save(results, f"{newest}/{before}.pt")  # expect: TRL008


main({})
