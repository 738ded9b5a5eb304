# A loader that drops what does not fill a batch gives as many rows everywhere, and so are lists of them as long.
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def step(model, samples):
    total = 0.0
    for sample in samples:
        loss = model(sample["x"]).mean()
        loss.backward()
        mean = loss.detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        total += mean.item()
    return total


def step_of_own(model, samples):
    total = 0.0
    for sample in samples:
        loss = model(sample["x"]).mean()
        loss.backward()
        total += loss.item()
    return total


def main(args, data, net):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    loader = DataLoader(data, sampler=DistributedSampler(data), batch_size=args.rows, drop_last=True)
    for batch in loader:
        rows = torch.repeat_interleave(batch["x"], args.generations, dim=0)
        columns = {"x": rows, "y": rows * 2}
        samples = [dict(zip(columns, row)) for row in zip(*columns.values())]
        total = step(model, samples)
        own = step_of_own(model, samples)
        if dist.get_rank() == 0:
            wandb.log({"train/all": total})
            wandb.log({"train/own": own})  # expect: TRL003


if __name__ == "__main__":
    main(*load())
