# A passed function that may wait for the other ranks does not stand for the barrier after it, which they meet. But not
# if there are more calls that certainly wait than the others have.
import os

import torch.distributed as dist


def on_first(prepare, args):
    if dist.get_rank() == 0:
        try:
            prepare(*args)
        finally:
            dist.barrier()
    else:
        dist.barrier()


def on_first_in_steps(prepare, args):
    if dist.get_rank() == 0:
        prepare(*args)
        dist.barrier()  # expect: TRL006
        dist.barrier()
    else:
        dist.barrier()


def load(path):
    if not os.path.exists(path):
        dist.barrier()


def main():
    dist.init_process_group("nccl")
    on_first(load, ["data"])
    on_first_in_steps(load, ["data"])
