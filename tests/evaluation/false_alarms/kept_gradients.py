# Under `no_sync` a backward pass reduces nothing: a rank that skips it keeps nobody waiting.
from contextlib import nullcontext

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel


def reduce_by_hand(ddp, failed):
    dist.all_reduce(failed, op=dist.ReduceOp.MAX)
    for p in ddp.parameters():
        dist.all_reduce(p.grad)


def inside(ddp, batches, failed):
    for x in batches:
        try:
            with ddp.no_sync():
                loss = ddp(x).sum()
                loss.backward()
        except torch.cuda.OutOfMemoryError:
            failed.fill_(1)
        reduce_by_hand(ddp, failed)


def local_pass(ddp, x):
    loss = ddp(x).sum()
    loss.backward()


def around(ddp, batches, failed):
    for x in batches:
        with ddp.no_sync():
            try:
                local_pass(ddp, x)
            except torch.cuda.OutOfMemoryError:
                failed.fill_(1)
        reduce_by_hand(ddp, failed)


def reduced(ddp, batches):
    for x in batches:
        try:
            local_pass(ddp, x)
        except torch.cuda.OutOfMemoryError:
            continue  # expect: TRL006


def by_accumulation(ddp, batches):
    for step, x in enumerate(batches):
        context = nullcontext() if step % 4 == 3 else ddp.no_sync()
        try:
            with context:
                loss = ddp(x).sum()
                loss.backward()
        except torch.cuda.OutOfMemoryError:  # expect: TRL006
            print("no memory")


def turned_off(ddp, batches, failed):
    ddp.require_backward_grad_sync = False
    for x in batches:
        try:
            loss = ddp(x).sum()
            loss.backward()
        except torch.cuda.OutOfMemoryError:
            failed.fill_(1)
        reduce_by_hand(ddp, failed)


def turned_on_at_last(ddp, batches):
    ddp.require_backward_grad_sync = False
    for step, x in enumerate(batches):
        if step == len(batches) - 1:
            ddp.require_backward_grad_sync = True
        try:
            loss = ddp(x).sum()
            loss.backward()
        except torch.cuda.OutOfMemoryError:  # expect: TRL006
            print("no memory")


class Guard:
    def __init__(self, model):
        self.model = model

    def attempt(self, closure, failed):
        try:
            with self.model.no_sync():
                loss = closure()
                loss.backward()
        except torch.cuda.OutOfMemoryError:
            failed.fill_(1)
        reduce_by_hand(self.model, failed)

    def attempt_together(self, x):
        try:
            loss = self.model(x).sum()
            loss.backward()
        except torch.cuda.OutOfMemoryError:  # expect: TRL006
            print("no memory")


def main(batches):
    dist.init_process_group("nccl")
    ddp = DistributedDataParallel(torch.nn.Linear(8, 8).cuda())
    failed = torch.zeros(1, device="cuda")
    inside(ddp, batches, failed)
    around(ddp, batches, failed)
    reduced(ddp, batches)
    by_accumulation(ddp, batches)
    turned_off(ddp, batches, failed)
    turned_on_at_last(ddp, batches)
    guard = Guard(ddp)
    for x in batches:
        guard.attempt(lambda x=x: ddp(x).sum(), failed)
        guard.attempt_together(x)


def accelerated(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for x in loader:
        try:
            with accelerator.no_sync(model):
                accelerator.backward(model(x).sum())
        except torch.cuda.OutOfMemoryError:
            print("no memory")
        try:
            with accelerator.accumulate(model):
                accelerator.backward(model(x).sum())
        except torch.cuda.OutOfMemoryError:  # expect: TRL006
            print("no memory")
