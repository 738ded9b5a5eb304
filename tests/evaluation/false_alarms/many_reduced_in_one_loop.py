# Ten totals of an evaluation that one loop reduces in place, and one that it leaves out.
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def ratio(total, count):
    return (total / count).item() if count.item() > 0 else float("nan")


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    hits = torch.tensor(0.0, device=device)
    errors = torch.tensor(0.0, device=device)
    squares = torch.tensor(0.0, device=device)
    highs = torch.tensor(0.0, device=device)
    lows = torch.tensor(0.0, device=device)
    means = torch.tensor(0.0, device=device)
    norms = torch.tensor(0.0, device=device)
    spans = torch.tensor(0.0, device=device)
    batches = torch.tensor(0.0, device=device)
    rows = torch.tensor(0.0, device=device)
    own = torch.tensor(0.0, device=device)
    for batch in loader:
        total = batch["y"]
        out = model(batch["x"])
        hits += out.argmax(-1).eq(total).sum()
        errors += (out * total).sum()
        squares += out.square().sum()
        if out.dim() > 1:
            highs += out.max()
        lows += out.min()
        means += out.mean()
        norms += out.norm()
        spans += out.std()
        batches += 1
        rows += out.shape[0]
        own += out.sum()
    if dist.is_initialized():
        for total in [hits, errors, squares, highs, lows, means, norms, spans, batches, rows]:
            dist.all_reduce(total, op=dist.ReduceOp.SUM)
    return {"hits": ratio(hits, rows), "highs": ratio(highs, batches), "own": ratio(own, rows)}


def main(rows, model, device):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    found = evaluate(model, loader, device)
    if dist.get_rank() == 0:
        wandb.log({"val/hits": found["hits"], "val/highs": found["highs"]})
        wandb.log({"val/own": found["own"]})  # expect: TRL003
