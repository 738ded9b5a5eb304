# The setting that shards the rows of an evaluation also gathers its outputs: the figures are equal either way.
import numpy as np
import torch
import torch.distributed as dist
from sklearn.metrics import average_precision_score
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler
from torch.utils.tensorboard import SummaryWriter


def of_all(tensor):
    parts = [torch.ones_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, tensor)
    return torch.cat(parts, dim=0)


@torch.no_grad()
def evaluate(loader, model, gathers=False):
    outputs, targets = [], []
    for images, target in loader:
        output = model(images.cuda())
        if gathers:
            output = of_all(output)
            target = of_all(target.cuda())
        outputs.append(output)
        targets.append(target)
    return {"mAP": np.mean(average_precision_score(torch.cat(targets).numpy(), torch.cat(outputs).cpu().numpy()))}


@torch.no_grad()
def evaluate_half(loader, model, gathers=False):
    outputs, targets, losses = [], [], []
    for images, target in loader:
        output = model(images.cuda())
        loss = torch.nn.functional.cross_entropy(output, target)
        if gathers:
            loss = of_all(loss[None]).mean()
        losses.append(loss)
        outputs.append(output)
        targets.append(target)
    return {"mAP": np.mean(average_precision_score(torch.cat(targets).numpy(), torch.cat(outputs).cpu().numpy()))}


@torch.no_grad()
def evaluate_quickly(loader, model, quick=False):
    outputs, targets = [], []
    for images, target in loader:
        output = model(images.cuda())
        if quick:
            output = of_all(output)
            target = of_all(target.cuda())
        outputs.append(output)
        targets.append(target)
    return {"mAP": np.mean(average_precision_score(torch.cat(targets).numpy(), torch.cat(outputs).cpu().numpy()))}


def main(args, rows, net):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    rank = dist.get_rank()
    if args.spread_eval:
        print("each rank evaluates its share")
        sampler = DistributedSampler(rows, rank=rank, shuffle=True)
    else:
        sampler = SequentialSampler(rows)
    loader = DataLoader(rows, sampler=sampler)
    model = torch.nn.parallel.DistributedDataParallel(net.cuda())
    scores = evaluate(loader, model, args.spread_eval)
    half = evaluate_half(loader, model, args.spread_eval)
    quick = evaluate_quickly(loader, model, args.quick)
    if rank == 0:
        writer = SummaryWriter("runs")
        writer.add_scalar("mAP", scores["mAP"], 0)
        writer.add_scalar("half", half["mAP"], 0)  # expect: TRL003
        writer.add_scalar("quick", quick["mAP"], 0)  # expect: TRL003
