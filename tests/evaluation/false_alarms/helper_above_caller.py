# A helper is defined above its caller, which calls it on one rank of each group or on the first of all.
import os

import torch.distributed as dist
from sat import mpu


def save_texts(texts, folder):
    with open(os.path.join(folder, "texts.txt"), "w") as file:
        file.write(texts)


def show(batch, args):
    save_texts(batch["txt"], args.save)
    if dist.get_rank() == 0:
        print(len(batch["txt"]))


def of_group(batch, args):
    if mpu.get_data_parallel_rank() == 0:
        show(batch, args)
    return batch


def show_first(batch, args):
    with open(os.path.join(args.save, "first.txt"), "w") as file:
        file.write(batch["txt"])
    if dist.get_rank() == 0:
        print("written")


def of_first(batch, args):
    if dist.get_rank() == 0:
        show_first(batch, args)
    return batch


def show_all(batch, args):
    with open(os.path.join(args.save, "all.txt"), "w") as file:  # expect: TRL008
        file.write(batch["txt"])
    if dist.get_rank() == 0:
        print(len(batch["txt"]))


def of_all(batch, args):
    show_all(batch, args)
    return batch
