# The main process leaves the function in any case, or only if the file is there.
import os

import torch.distributed as dist


def save(path, rows):
    if dist.get_rank() == 0:
        if os.path.exists(path):
            return -1
        print("another process writes it")
        return 0
    with open(path, "w") as file:
        return file.write(str(rows))


def save_new(path, rows):
    if dist.get_rank() == 0:
        if os.path.exists(path):
            return -1
        print("it is new")
    with open(path, "w") as file:  # expect: TRL008
        return file.write(str(rows))


dist.init_process_group("nccl")
save("a", [])
save_new("b", [])
