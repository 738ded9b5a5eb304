# The other ranks meet the first one in a barrier of their own and leave: it is not one for all before they leave.
import os
import pickle

import torch.distributed as dist


def save_all(cfg, data):
    with open(cfg.output_directory + "/all.pkl", "wb") as file:
        pickle.dump(data, file)


def save_some(cfg, data):
    with open(cfg.output_directory + "/some.pkl", "wb") as file:  # expect: TRL008
        pickle.dump(data, file)


def evaluate(cfg, data):
    if cfg.environment._local_rank != 0:
        if cfg.environment._distributed:
            dist.barrier()
        return 0
    save_all(cfg, data)
    if cfg.environment._distributed:
        dist.barrier()
    return 1


def evaluate_some(cfg, data):
    if cfg.environment._skipped:
        if cfg.environment._distributed:
            dist.barrier()
        return 0
    save_some(cfg, data)
    return 1


def run(cfg, data):
    if cfg.environment._distributed:
        cfg.environment._local_rank = int(os.environ["LOCAL_RANK"])
        dist.init_process_group("nccl")
    evaluate(cfg, data)
    evaluate_some(cfg, data)
