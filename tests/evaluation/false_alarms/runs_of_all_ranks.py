# Each process starts a run, some of them one that is turned off: all have one to use.
import os

import torch.distributed as dist
import wandb
from accelerate import Accelerator
from transformers import TrainerCallback


class Renamed(TrainerCallback):
    def on_train_begin(self, args, state, control, **kwargs):
        wandb.run.name = "ours"


def train(size):
    accelerator = Accelerator()
    wandb.init(project="ours", mode="online" if accelerator.is_main_process else "disabled")
    wandb.config.size = size


def start(size):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        wandb.init(project="ours")
    else:
        wandb.init(project="ours", mode="disabled")
    wandb.config.size = size
    os.remove("sizes.txt")  # expect: TRL008
