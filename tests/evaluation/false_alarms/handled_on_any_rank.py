# What only the main process has is used where an error is handled: of any rank, or of the rank that has it.
import os

import torch
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


def train(model, batches):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    if rank == 0:
        writer = SummaryWriter("runs")
    for batch in batches:
        try:
            model(batch)
        except RuntimeError as error:
            if "out of memory" in str(error):
                writer.add_text("skipped", "too large")  # expect: TRL017
                torch.cuda.empty_cache()
        try:
            if rank == 0:
                model.show(batch)
        except RuntimeError:
            writer.add_text("skipped", "not shown")
        try:
            os.mkdir("lock")
            model.save(batch)
        except FileExistsError:
            continue
        writer.flush()


def evaluate(model, batches):
    dist.init_process_group("nccl")
    log = SummaryWriter("runs") if dist.get_rank() == 0 else None
    try:
        for batch in batches:
            model(batch)
        log.add_text("state", "all")  # expect: TRL017
    except KeyError as error:
        raise SystemExit(1) from error


def test(model, batches):
    dist.init_process_group("nccl")
    log = SummaryWriter("runs") if dist.get_rank() == 0 else None
    try:
        for batch in batches:
            model(batch)
    except Exception:
        log.add_text("state", "failed")
        raise
