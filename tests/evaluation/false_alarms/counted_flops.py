# FLOPs are counted from shapes: on one batch of each rank they are the same on all ranks.
import torch
import wandb
from accelerate import Accelerator
from torch.utils.data import DataLoader
from torch.utils.flop_counter import FlopCounterMode


def flops_of(model, loader):
    images = next(iter(loader))["images"]
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(images)
    per_sample = counter.get_total_flops() / images.shape[0]
    return {"flops_per_sample": per_sample, "gflops_per_sample": per_sample / 1e9, "brightness": images.mean().item()}


def evaluate(model, dataset):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(dataset, batch_size=4))
    cost = flops_of(accelerator.unwrap_model(model), loader)
    if accelerator.is_main_process:
        wandb.log({"flops_per_sample": cost["flops_per_sample"], "gflops_per_sample": cost["gflops_per_sample"]})
        wandb.log({"brightness": cost["brightness"]})  # expect: TRL003
