# A function returns its result to the first process, by a number that each program gets in its own way.
import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", type=int, default=None)
parser.add_argument("--spawned", action="store_true")
parser.add_argument("--size", type=int, default=1)
args = parser.parse_args()


def evaluate(model, gpu):
    scores = model(torch.zeros(10).cuda(gpu))
    dist.all_reduce(scores)
    if not args.spawned or gpu == 0:
        return scores.cpu()
    return None


def measure(model, gpu):
    scores = model(torch.zeros(10).cuda(gpu))
    dist.all_reduce(scores)
    if args.size > 1:
        return scores.cpu()
    return None


def work(gpu, gpus, args):
    if args.spawned:
        args.rank = args.rank * gpus + gpu
    dist.init_process_group("nccl", world_size=args.size, rank=args.rank)
    model = torch.nn.Linear(10, 10).cuda(gpu)
    scores = evaluate(model, gpu)
    if scores is not None:
        torch.save(scores, "best.pt")
        if os.path.exists("last.pt"):
            os.system("rm last.pt")
    others = measure(model, gpu)
    if others is not None:
        torch.save(others, "measured.pt")  # expect: TRL008


def main():
    gpus = torch.cuda.device_count()
    if args.spawned:
        mp.spawn(work, nprocs=gpus, args=(gpus, args))
    else:
        work(args.gpu, gpus, args)


main()
