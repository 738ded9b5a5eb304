# All ranks leave a loop on the same condition, the first one in a branch of its own: nobody is left waiting.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(args, model, loader):
    step = 0
    for _ in range(args.epochs):
        for x, _ in loader:
            model(x).mean().backward()
            step += 1
        if args.local_rank in [-1, 0]:
            torch.save(model.module.state_dict(), args.path)
            print("saved", args)
            if args.max_steps > 0 and step > args.max_steps:
                print("enough")
                break
        if args.max_steps > 0 and step > args.max_steps:
            print("enough")
            break


def train_until(args, model, loader, stopper):
    for _ in range(args.epochs):
        for x, _ in loader:
            model(x).mean().backward()
        if dist.get_rank() == 0:
            stopper.update(model.module)
            if stopper.is_done:
                break  # expect: TRL006
        if stopper.is_done:
            break


def train_and_meet(args, model, loader):
    step = 0
    for _ in range(args.epochs):
        for x, _ in loader:
            model(x).mean().backward()
            step += 1
        if dist.get_rank() == 0:
            print(step)
            if step > args.max_steps:
                break  # expect: TRL006
        dist.barrier()
        if step > args.max_steps:
            break


def train_longer(args, model, loader):
    step = 0
    for _ in range(args.epochs):
        for x, _ in loader:
            model(x).mean().backward()
            step += 1
        if dist.get_rank() == 0 and step > args.max_steps:
            break  # expect: TRL006
        if step > args.max_steps and args.stop_early:
            break


def main(args, model, loader, stopper):
    dist.init_process_group("nccl")
    args.local_rank = dist.get_rank()
    model = DistributedDataParallel(model)
    train(args, model, loader)
    train_until(args, model, loader, stopper)
    train_and_meet(args, model, loader)
    train_longer(args, model, loader)
