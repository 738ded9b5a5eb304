# The other ranks wait before something, and the first one after it, both under the same flag.
import os

import torch.distributed as dist


def load(cfg, waits):
    if getattr(cfg, "barrier", True) and waits and cfg.local_rank not in [-1, 0]:
        dist.barrier()
    rows = cfg.read()
    if getattr(cfg, "barrier", True) and waits and cfg.local_rank == 0:
        dist.barrier()
    return rows


def load_again(cfg, waits):
    if waits and cfg.local_rank != 0:
        dist.barrier()
    rows = cfg.read()
    if waits and cfg.local_rank == 0:
        dist.barrier()
    return rows


def load_with_two_flags(cfg, waits, caches):
    if waits and cfg.local_rank != 0:
        dist.barrier()
    rows = cfg.read()
    if caches and cfg.local_rank == 0:
        dist.barrier()  # expect: TRL006
    return rows


def load_on_first(cfg, waits):
    if waits and cfg.local_rank in [0]:
        cfg.prepare()
    rows = cfg.read()
    if waits and cfg.local_rank == 0:
        dist.barrier()  # expect: TRL006
    return rows


def main(cfg, waits, caches):
    cfg.local_rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    load(cfg, waits)
    load_again(cfg, waits)
    load_with_two_flags(cfg, waits, caches)
    load_on_first(cfg, waits)
