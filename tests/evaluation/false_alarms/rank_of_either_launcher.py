# Settings read the rank from the variable of one launcher or another: an object made under a test of it is of one rank.
import os

import torch
import torch.distributed as dist


class Settings:
    if "SLURM_PROCID" in os.environ:
        WORLD_SIZE = int(os.environ["SLURM_NTASKS"])
        RANK = int(os.environ["SLURM_PROCID"])
    else:
        WORLD_SIZE = int(os.environ["WORLD_SIZE"])
        RANK = int(os.environ["RANK"])


class FirstEngine:
    def start(self, rows):
        dist.init_process_group("nccl")
        torch.save(rows, "first.pt")


class OtherEngine:
    def start(self, rows):
        dist.init_process_group("nccl")


class EngineOfAll:
    def start(self, rows):
        torch.save(rows, "all.pt")  # expect: TRL008


def launch(rows):
    engine = FirstEngine() if Settings.RANK == 0 else OtherEngine()
    engine.start(rows)
    EngineOfAll().start(rows)


launch([1, 2])
