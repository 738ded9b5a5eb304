# Where torchrun has set its variables for no process, there is one: what it writes, no other process writes.
import json
import os
import sys

import torch.distributed as dist


def write_state(path, state):
    with open(path, "w") as file:
        json.dump({"state": state, "arguments": sys.argv}, file)


def write_settings(path, settings):
    with open(path, "w") as file:  # expect: TRL008
        json.dump(settings, file)


def write_start(path, settings):
    with open(path, "w") as file:  # expect: TRL008
        json.dump(settings, file)


def main(args, train):
    if "WORLD_SIZE" in os.environ:
        rank = int(os.environ["LOCAL_RANK"])
        if rank == 0:
            write_state(args.state_file, "running")
        write_settings(args.settings_file, vars(args))
    else:
        rank = 0
        write_state(args.state_file, "running")
    train(args, rank)


def main_by_slurm(args, train):
    if "RANK" in os.environ:
        dist.init_process_group("nccl")
    else:
        os.environ["MASTER_ADDR"] = args.address
        dist.init_process_group("nccl", rank=int(os.environ["SLURM_PROCID"]), world_size=args.gpus)
        write_start(args.start_file, vars(args))
    train(args, dist.get_rank())
