import os

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel


def is_started():
    return dist.is_available() and dist.is_initialized()


def get_rank():
    if not is_started():
        return 0
    return dist.get_rank()


def is_main_process():
    return get_rank() == 0


def start(args):
    if "RANK" in os.environ:
        args.gpu = int(os.environ["LOCAL_RANK"])
    else:
        args.distributed = False
        return
    torch.cuda.set_device(args.gpu)
    dist.init_process_group("nccl")


def start_if_missing():
    if not dist.is_initialized():
        dist.init_process_group("nccl")


def train(args, model):
    if args.log and is_main_process():
        wandb.init(project=args.project)  # expect: TRL008
    start(args)
    if is_main_process():
        torch.save(model.state_dict(), args.start)
    model = DistributedDataParallel(model)
    model(args.batch).sum().backward()


def finetune(args, model):
    rank = get_rank()
    distributed = torch.cuda.device_count() > 1
    if distributed:
        dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    model(args.batch).sum().backward()
    if rank == 0:
        torch.save(model.module.state_dict(), "tuned.pt")  # expect: TRL008
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "last.pt")


def distill(args, model):
    if not dist.is_initialized() or dist.get_rank() == 0:
        wandb.init(project="distilled")  # expect: TRL008
    is_distributed = dist.is_initialized()
    rank = dist.get_rank() if is_distributed else 0
    if not is_distributed or rank == 0:
        os.makedirs(args.out)  # expect: TRL008
    if rank != 0:
        os.remove("old.pt")
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    model(args.batch).sum().backward()


def resume(args, model):
    start_if_missing()
    if is_main_process():
        os.makedirs("resumed")
    model = DistributedDataParallel(model)
    model(args.batch).sum().backward()


def call_again(args, model):
    if is_main_process():
        os.makedirs("again")
    start_if_missing()
    model = DistributedDataParallel(model)
    model(args.batch).sum().backward()


def evaluate(args, model):
    for name in args.names:
        if is_main_process():
            os.makedirs("evaluated")
        if name == "first":
            dist.init_process_group("nccl")
        model = DistributedDataParallel(model)
        model(args.batch).sum().backward()


def either(args, model):
    if args.local:
        if is_main_process():
            os.makedirs("either")
    else:
        dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    model(args.batch).sum().backward()


def own_rank(args, model):
    main = int(os.environ.get("RANK", 0)) == 0 if not dist.is_initialized() else dist.get_rank() == 0
    if main:
        os.makedirs("own")
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    model(args.batch).sum().backward()


def passed_on(args, model):
    args.rank = get_rank()
    if args.rank == 0:
        os.makedirs("passed")
    dist.init_process_group("nccl", rank=args.rank, world_size=args.world_size)
    model = DistributedDataParallel(model)
    model(args.batch).sum().backward()
