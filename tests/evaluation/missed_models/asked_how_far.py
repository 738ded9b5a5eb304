# All ranks are as far as each other, wherever the number of steps comes from: beside that, the clock of a rank decides.
import time

import torch
import torch.distributed as dist
from saved import last_step
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
start = time.time()


def is_late():
    return time.time() - start > 3600


def is_late_together():
    late = torch.tensor(float(is_late()), device="cuda")
    dist.all_reduce(late, op=dist.ReduceOp.MAX)
    return late.item() > 0


def train(net, rows):
    model, step = DDP(net), last_step()
    for batch in rows:
        model(batch).mean().backward()
        step += 1
        if step % 10 == 0 and is_late():
            break  # expect: TRL006


def train_together(net, rows):
    model, step = DDP(net), last_step()
    for batch in rows:
        model(batch).mean().backward()
        step += 1
        if step % 10 == 0 and is_late_together():
            break


def train_by_plan(net, rows, plan):
    model, step = DDP(net), last_step()
    for batch in rows:
        model(batch).mean().backward()
        step += 1
        if plan.has(step) and is_late():
            break


def main(plan):
    net, rows = torch.nn.Linear(4, 1).cuda(), torch.ones(9, 4).cuda()
    train(net, rows)
    train_together(net, rows)
    train_by_plan(net, rows, plan)


main(last_step())
