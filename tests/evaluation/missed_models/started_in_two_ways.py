"""A program whose processes meet without an Accelerator, too: where there is none, they are several as well."""

import torch
import torch.distributed as dist
from accelerate import Accelerator


def save(model, accelerator):
    if accelerator is not None:
        accelerator.save(model.state_dict(), "weights.pt")
    else:
        save_by_hand(model)


def save_by_hand(model):
    torch.save(model.state_dict(), "weights.pt")  # expect: TRL008


def main(config, model):
    accelerator = None
    if config.accelerate:
        accelerator = Accelerator()
    elif config.backend in ("nccl", "gloo"):
        dist.init_process_group(config.backend)
    save(model, accelerator)
