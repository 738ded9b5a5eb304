# Whether there are several processes is told by a flag that a caller passes under a name of its own: `dist_train`.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def loader_of(rows, spread):
    sampler = DistributedSampler(rows) if spread else None
    return DataLoader(rows, batch_size=4, sampler=sampler)


def areas(predicted, labels, dist_train):
    hits, total = (predicted == labels).sum(), torch.ones_like(labels).sum()
    if dist_train:
        dist.all_reduce(hits), dist.all_reduce(total)
    return hits.item(), total.item()


def own_areas(predicted, labels, finetune):
    hits, total = (predicted == labels).sum(), torch.ones_like(labels).sum()
    if finetune:
        dist.all_reduce(hits), dist.all_reduce(total)
    return hits.item(), total.item()


def evaluate(model, loader, writer, rank, dist_train, finetune):
    hits, total, own_hits = 0, 0, 0
    for inputs, labels in loader:
        predicted = model(inputs.cuda()).argmax(-1)
        found, counted = areas(predicted, labels.cuda(), dist_train)
        hits += found
        total += counted
        own_hits += own_areas(predicted, labels.cuda(), finetune)[0]
    if rank == 0:
        writer.add_scalar("accuracy", hits / total)
        writer.add_scalar("own_hits", own_hits)  # expect: TRL003


def main(args, rows):
    if args.launcher == "none":
        dist_train, rank = False, 0
    else:
        dist.init_process_group("nccl")
        dist_train, rank = True, dist.get_rank()
    torch.cuda.set_device(args.local_rank)
    model = torch.nn.Linear(4, 2).cuda()
    if dist_train:
        model = DistributedDataParallel(model, device_ids=[args.local_rank])
    writer = SummaryWriter("runs") if rank == 0 else None
    loader = loader_of(rows, dist_train)
    evaluate(model, loader, writer, rank, dist_train, args.finetune)
