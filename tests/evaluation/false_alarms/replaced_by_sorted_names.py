# A loop over the names of a dict replaces each of its entries, beside the reduced values or with their numbers.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def reduced(metrics, names):
    values = torch.tensor([float(metrics[name]) for name in names], device="cuda")
    dist.all_reduce(values)
    return values / dist.get_world_size()


def reduce_zipped(metrics):
    names = sorted(metrics.keys())
    for name, value in zip(names, reduced(metrics, names).tolist(), strict=True):
        metrics[name] = value


def reduce_numbered(metrics):
    names = list(metrics)
    values = reduced(metrics, names)
    for i, name in enumerate(names):
        metrics[name] = values[i].item()


def reduce_some(metrics):
    names = sorted(metrics)[:1]
    for name, value in zip(names, reduced(metrics, names).tolist(), strict=True):
        metrics[name] = value


def reduce_others(metrics, names):
    for name, value in zip(names, reduced(metrics, names).tolist(), strict=True):
        metrics[name] = value


def replace_by_own(metrics):
    names = sorted(metrics)
    values = torch.tensor([float(metrics[name]) for name in names], device="cuda")
    for name, value in zip(names, values.tolist(), strict=True):
        metrics[name] = value


def show(names, results):
    names = sorted(names)
    results = list(results)
    for name in names:
        print(name)
    for name, result in zip(names, results, strict=True):
        print(name, result)


def evaluate(model, loader):
    metrics = {"count": 0.0, "loss": 0.0}
    with torch.no_grad():
        for rows, labels in loader:
            metrics["count"] += len(rows)
            metrics["loss"] += model(rows, labels).item()
    return metrics


def main(model, rows, names):
    dist.init_process_group("nccl")
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    writer = SummaryWriter("runs") if dist.get_rank() == 0 else None
    zipped, numbered = evaluate(model, loader), evaluate(model, loader)
    some, others, own = (evaluate(model, loader) for _ in range(3))
    reduce_zipped(zipped)
    reduce_numbered(numbered)
    reduce_some(some)
    reduce_others(others, names)
    replace_by_own(own)
    if writer is not None:
        writer.add_scalar("zipped", zipped["loss"])
        writer.add_scalar("numbered", numbered["loss"])
        writer.add_scalar("some", some["loss"])  # expect: TRL003
        writer.add_scalar("others", others["loss"])  # expect: TRL003
        writer.add_scalar("own", own["loss"])  # expect: TRL003
