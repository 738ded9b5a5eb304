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


class Messages:
    def __init__(self, accelerator, out):
        self.accelerator = accelerator
        self.out = out

    def write(self, message, main=False, local=True, in_order=False):
        if (main or local) and in_order:
            raise ValueError("one process or one after the other")
        if (main and self.accelerator.is_main_process) or (local and self.accelerator.is_local_main_process):
            self.out.append(message)
            return
        if in_order:
            self.out.append(message)
            self.accelerator.wait_for_everyone()

    def write_unchecked(self, message, main=False, local=True, in_order=False):
        if main and in_order:
            raise ValueError("one process or one after the other")
        if (main and self.accelerator.is_main_process) or (local and self.accelerator.is_local_main_process):
            self.out.append(message)
            return  # expect: TRL006
        if in_order:
            self.out.append(message)
            self.accelerator.wait_for_everyone()

    def write_unless_told(self, message, main=None, in_order=False):
        if main is not None and in_order:
            raise ValueError("one process or one after the other")
        if main and self.accelerator.is_main_process:
            return
        if in_order:
            self.accelerator.wait_for_everyone()

    def write_after_all(self, message, main=False, in_order=False):
        if main and in_order:
            main = self.accelerator.num_processes > 1
        if main and self.accelerator.is_main_process:
            return  # expect: TRL006
        if in_order:
            self.accelerator.wait_for_everyone()


def train(model, optimizer, loader, args):
    accelerator = Accelerator()
    resumed(args, "out")
    told(args, dist.get_rank())
    resumed_or_not(args, "out")
    messages = Messages(accelerator, [])
    messages.write("started", main=args.main, local=args.local, in_order=args.in_order)
    messages.write_unchecked("started", main=args.main, local=args.local, in_order=args.in_order)
    messages.write_unless_told("started", main=args.main, in_order=args.in_order)
    messages.write_after_all("started", main=args.main, in_order=args.in_order)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        out = model(**batch)
        gathered_either_way(accelerator, batch["labels"], out.loss)
        Looking(accelerator).over([batch["labels"]], [out.loss])
        by_own_rows(batch["labels"], out.loss)
