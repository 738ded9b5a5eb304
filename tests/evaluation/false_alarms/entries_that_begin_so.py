# An entry that is put into a batch is not what a log reads from it under names that begin otherwise.
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def train(data, net):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for step, batch in enumerate(loader):
        out = model(batch["images"])
        batch.update(out)  # expect: TRL003
        batch.update({"mask": batch["valid"]})
        out["loss"].backward()
        if dist.get_rank() == 0:
            log_memory(batch, step)


def log_memory(seen, step):
    for key in sorted(each for each in seen if each.startswith("memory_")):
        wandb.log({"memory": seen[key].float().mean().item()}, step=step)


def train_with_other_logs(data, net, name):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for step, batch in enumerate(loader):
        out = model(batch["images"])
        batch.update({"mask_size": out["mask"].mean()})  # expect: TRL003
        batch.update({f"{name}_size": out["size"].mean()})  # expect: TRL003
        batch.update({"rate": out["rate"].mean()})
        out["loss"].backward()
        if dist.get_rank() == 0:
            log_masks(batch, step)


def log_masks(seen, step):
    for key in sorted(each for each in seen):
        if key.startswith(("mask", "kept")):
            wandb.log({"mask": seen[key].item()}, step=step)


if __name__ == "__main__":
    train([], torch.nn.Linear(2, 2))
    train_with_other_logs([], torch.nn.Linear(2, 2), "masked")
