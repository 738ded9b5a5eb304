# A dataloader that drops incomplete batches gives all ranks as many rows, so lists of them have the same length.
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def step(model, samples, times):
    total = 0.0
    for sample in samples:
        for time in range(times):
            loss = model(sample["x"][:, time]).mean()  # expect: TRL006
            loss.backward()
            mean = loss.detach().clone()
            dist.all_reduce(mean, op=dist.ReduceOp.AVG)
            total += mean.item()
    return total


def train(args, data, net):
    model = DistributedDataParallel(net)
    for batch in DataLoader(data, sampler=DistributedSampler(data), batch_size=args.rows, drop_last=True):
        rows = torch.repeat_interleave(batch["x"], args.generations, dim=0)
        columns = {"x": rows, "y": rows}
        samples = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        total = step(model, samples, args.times)
        if dist.get_rank() == 0:
            wandb.log({"train/all": total})


def train_with_some(args, data, net):
    model = DistributedDataParallel(net)
    for batch in DataLoader(data, sampler=DistributedSampler(data), batch_size=args.rows, drop_last=True):
        rows = batch["x"][batch["kept"] > 0]
        total = step(model, [{"x": row} for row in rows], args.times)
        if dist.get_rank() == 0:
            wandb.log({"train/some": total})  # expect: TRL003
