# A rank that reaches the collective has not left before, or no rank reaches it: the conditions depend on each other.
import os

import torch.distributed as dist
from accelerate import Accelerator


def gathered_either_way(accelerator, rows, loss):
    has_rows = rows.sum() > 0
    if not has_rows:
        return accelerator.gather(loss * 0)
    if has_rows:
        loss = accelerator.gather(loss)
    return loss


class Looking:
    def __init__(self, accelerator):
        self.accelerator = accelerator

    def over(self, batches, losses):
        for rows, _loss in zip(batches, losses, strict=False):
            empty = bool(rows.max() < 1)
            if empty:
                self.accelerator.wait_for_everyone()
                continue
            if not empty:
                self.accelerator.wait_for_everyone()


def resumed(args, folder):
    latest = args.resume == "latest"
    if dist.get_rank() == 0 and os.path.exists(os.path.join(folder, "out.log")) and not latest:
        print("it is there already")
        return -1
    if latest:
        found = [folder if dist.get_rank() == 0 else None]
        dist.broadcast_object_list(found)
        args.resume = found[0]
    return 0


def told(args, rank):
    if rank == 0 and not args.several:
        return "nobody to wait for"
    if args.several:
        dist.barrier()
    return "all of them"


def by_own_rows(rows, loss):
    has_rows = rows.sum() > 0
    if not has_rows:
        return loss  # expect: TRL006
    if has_rows:
        dist.all_reduce(loss)
    return loss


def resumed_or_not(args, folder):
    latest = args.resume == "latest"
    if dist.get_rank() == 0:
        print("looking")
        if os.path.exists(os.path.join(folder, "out.log")):
            return -1  # expect: TRL006
    if latest:
        dist.barrier()
    return 0


def train(model, optimizer, loader, args):
    accelerator = Accelerator()
    resumed(args, "out")
    told(args, dist.get_rank())
    resumed_or_not(args, "out")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        out = model(**batch)
        gathered_either_way(accelerator, batch["labels"], out.loss)
        Looking(accelerator).over([batch["labels"]], [out.loss])
        by_own_rows(batch["labels"], out.loss)
