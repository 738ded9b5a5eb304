# A helper sums every tensor of a dict over the ranks, and tests for tensors with torch.

import torch
import torch.distributed as dist
from data import ds, make
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def sync(stats):
    if not (dist.is_available() and dist.is_initialized()):
        return
    for key, value in stats.items():
        if key == "thresholds":
            continue
        if torch.is_tensor(value):
            dist.all_reduce(value, op=dist.ReduceOp.SUM)


def init(device, n):
    return {
        "thresholds": torch.linspace(0, 1, n, device=device),
        "sum": torch.zeros(n, device=device),
        "count": torch.zeros((), device=device),
    }


def update(stats, out, batch, k):
    for idx in range(k):
        iou = out.float().sum() / batch.sum()
        stats["sum"][idx] += iou.sum()
    stats["count"] += out.shape[0]


def finalize(stats):
    sync(stats)
    results = {}
    if stats["count"].item() > 0:
        mean = stats["sum"] / stats["count"].clamp_min(1.0)
        best = int(torch.argmax(mean).item())
        results["best"] = float(mean[best].item())
    return results


def finalize_less(stats):
    results = {}
    if stats["count"].item() > 0:
        results["least"] = float((stats["sum"] / stats["count"])[0].item())  # expect: TRL003
    return results


def main(k):
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(make())
    loader = DataLoader(ds, sampler=DistributedSampler(ds))
    writer = SummaryWriter("x") if dist.get_rank() == 0 else None
    stats, others = init("cuda", k), init("cuda", k)
    for batch in loader:
        out = model(batch)
        update(stats, out, batch, k)
        update(others, out, batch, k)
    r = {}
    r.update(finalize(stats))
    r.update(finalize_less(others))
    if dist.get_rank() == 0:
        for key, value in r.items():
            writer.add_scalar(key, value, 0)


main(5)
