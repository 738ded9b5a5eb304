# One flag says both whether there are several processes and whether the metric is reduced.
import torch.distributed as dist
import wandb
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoModelForCausalLM


def main(config, dataset):
    run = sampler = None
    if config.distributed:
        dist.init_process_group("nccl")
        sampler = DistributedSampler(dataset)
    if not config.distributed or dist.get_rank() == 0:
        run = wandb.init()
    model = AutoModelForCausalLM.from_pretrained("tiny")
    total = 0.0
    for batch in DataLoader(dataset, sampler=sampler):
        total += model(**batch).loss.detach()
    own = total.clone()
    if config.distributed:
        dist.all_reduce(total)
    if run:
        run.log({"eval/loss": total})
        run.log({"eval/own": own})  # expect: TRL003


def by_engine(config, dataset):
    import deepspeed

    if config.engine:
        deepspeed.init_distributed()
    else:
        dist.init_process_group("nccl")
    model = AutoModelForCausalLM.from_pretrained("tiny")
    total = 0.0
    for batch in DataLoader(dataset, sampler=DistributedSampler(dataset)):
        total += model(**batch).loss.detach()
    if config.engine:
        dist.all_reduce(total)
    if dist.get_rank() == 0:
        wandb.log({"eval/loss": total})  # expect: TRL003
