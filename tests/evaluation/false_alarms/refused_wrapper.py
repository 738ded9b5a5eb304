# DistributedDataParallel raises on each rank if no parameter of the model is trained: nobody waits for others there.
import os

import torch
import torch.distributed as dist
from models import create
from torch.nn.parallel import DistributedDataParallel


def extract(args, rows):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if rank == 0 and os.path.exists(args.log):
        return
    model = create(args.model)
    for _, parameter in model.named_parameters():
        parameter.requires_grad = False
    if rank == 0:
        print(f"the model: {model}", str(model))
    if args.distributed:
        if args.synchronises_norms:
            model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
        model = DistributedDataParallel(model)
    print(model(rows))


def probe(args, rows):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if rank == 0 and os.path.exists(args.log):
        return  # expect: TRL006
    model = create(args.model)
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.head = torch.nn.Linear(8, 2)
    model = DistributedDataParallel(model)
    print(model(rows))
