"""Loaders that hydra builds: the sampler that they are given says that each rank has its own batches."""

import hydra
import torch
import torch.distributed as dist
import wandb
from hydra.utils import instantiate
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler, SequentialSampler


def evaluate(model, loader):
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in loader:
            loss = model(batch["x"]).mean()
            total += loss.item() * len(batch["x"])
            count += len(batch["x"])
    return total / count


def evaluate_on_all(model, loader):
    sums = torch.zeros(2, device="cuda")
    with torch.no_grad():
        for batch in loader:
            sums[0] += model(batch["x"]).sum()
            sums[1] += len(batch["x"])
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


@hydra.main(config_path="conf", version_base=None)
def main(cfg):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(instantiate(cfg.model).cuda())
    rows, whole = instantiate(cfg.rows), instantiate(cfg.whole)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = instantiate(cfg.train.data, dataset=rows, sampler=DistributedSampler(rows))
    shared = instantiate(cfg.valid.dataloader, dataset=rows, sampler=DistributedSampler(rows))
    same = instantiate(cfg.valid.dataloader, dataset=whole, sampler=SequentialSampler(whole))
    for epoch in range(cfg.epochs):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            optimizer.zero_grad()
            model(batch["x"]).mean().backward()
            optimizer.step()
        own, reduced, of_all = evaluate(model, shared), evaluate_on_all(model, shared), evaluate(model, same)
        if dist.get_rank() == 0:
            wandb.log({"own": own})  # expect: TRL003
            wandb.log({"reduced": reduced, "of_all": of_all})


if __name__ == "__main__":
    main()
