# What a rank has drawn, until all ranks agree on what one of them has drawn; and all of the things in another order.
import random

import accelerate.utils
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler


def sent_in_place(files):
    held_out = random.sample(files, 10)
    dist.broadcast_object_list(held_out, src=0)
    return DistributedSampler([name for name in files if name not in held_out])


def sent_as_a_tensor(files):
    held_out = torch.randperm(len(files))[:10].cuda()
    dist.broadcast(held_out, src=0)
    return DistributedSampler([name for place, name in enumerate(files) if place not in held_out])


def sent_by_a_helper(files):
    held_out = agreed(set(random.sample(files, 10)))
    return DistributedSampler([name for name in files if name not in held_out])


def agreed(drawn):
    objects = [drawn]
    dist.broadcast_object_list(objects, src=0)
    return objects[0]


def sent_by_a_library(files):
    held_out = accelerate.utils.broadcast_object_list(random.sample(files, 10))
    return DistributedSampler([name for name in files if name not in held_out])


def all_in_another_order(files):
    names = sorted(set(files))
    np.random.default_rng().shuffle(names)
    words = {word for name in names[:] for word in name.split()}
    return DistributedSampler([word for word in files if word in words])


def lower_case(files):
    names = sorted(set(files))
    np.random.default_rng().shuffle(names)  # expect: TRL015
    held_out = {name.lower() for name in names[:10]}
    return DistributedSampler([name for name in files if name.lower() not in held_out])


def not_sent(files):
    held_out = torch.randperm(len(files))[:10].tolist()  # expect: TRL015
    return DistributedSampler([name for place, name in enumerate(files) if place not in held_out])


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    with open("files.txt") as lines:
        files = [line.strip() for line in lines]
    sent_in_place(files)
    sent_as_a_tensor(files)
    sent_by_a_helper(files)
    sent_by_a_library(files)
    all_in_another_order(files)
    lower_case(files)
    not_sent(files)


main()
