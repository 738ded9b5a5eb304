# A function that is tested instead of being called is true: what is behind `not` is never done.
import os
import time

import torch
import torch.distributed as dist


def has_data(folder):
    return bool(os.listdir(folder))


def prepare(folder, other):
    if not os.path.exists:
        os.makedirs(folder)
    if not has_data:
        os.makedirs(folder + "/data")
    if dist.is_initialized:
        time.sleep(1)
    else:
        os.makedirs(folder + "/alone")
    if os.path.exists:
        os.makedirs(other)  # expect: TRL008
    if not os.path.exists(folder):
        time.sleep(1)
        os.rmdir(folder)  # expect: TRL008


def main(args, model):
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(model)
    prepare(args.folder, args.other)
    return model
