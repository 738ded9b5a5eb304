# A worker gets the number of its node, from which it computes its rank; before that all workers of a node are alike.
import torch
import torch.distributed as dist
from loaders import build, loader
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter


def worker(gpu, gpus, args):
    if args.rank % gpus == 0:
        progress = []
    args.rank = args.rank * gpus + gpu
    dist.init_process_group("nccl", world_size=args.world_size, rank=args.rank)
    if args.rank % gpus == 0:
        writer = SummaryWriter(args.folder)
    model = DistributedDataParallel(build(), device_ids=[gpu])
    for batch in loader(args):
        model(batch).sum().backward()
        progress.append(len(batch))
        writer.add_text("rows", "batch")  # expect: TRL017


def main(args):
    torch.multiprocessing.spawn(worker, nprocs=8, args=(8, args))
