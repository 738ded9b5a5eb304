"""There is more than one rank: a test for that is decided, and the other branch is dead."""

import os

import torch
import torch.distributed as dist
from accelerate import Accelerator, PartialState
from transformers import Trainer


class Guards(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        accelerator = self.accelerator
        loss = model(**inputs).loss

        if accelerator.num_processes > 1:
            a = accelerator.gather(loss).mean()
        else:
            a = loss
            reveal_rank(a)  # revealed: never
        reveal_rank(a)  # revealed: same

        b = loss
        if dist.is_initialized():
            b = accelerator.gather(b)
        reveal_rank(b)  # revealed: same

        c = loss
        if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
            c = accelerator.gather(c)
        reveal_rank(c)  # revealed: same

        if accelerator.num_processes == 1:
            reveal_rank(loss)  # revealed: never
        if not dist.is_initialized():
            reveal_rank(loss)  # revealed: never
            return loss
        if not dist.is_available() or not dist.is_initialized():
            reveal_rank(loss)  # revealed: never
        if dist.get_world_size() < 2:
            reveal_rank(loss)  # revealed: never
        if 1 < accelerator.num_processes:
            reveal_rank(loss)  # revealed: local(data)
        else:
            reveal_rank(loss)  # revealed: never
        if dist.get_world_size() <= 1:
            reveal_rank(loss)  # revealed: never
        if accelerator.num_processes != 1:
            reveal_rank(loss)  # revealed: local(data)
        else:
            reveal_rank(loss)  # revealed: never

        # There may or may not be more than two.
        if accelerator.num_processes > 2:
            reveal_rank(loss)  # revealed: local(data)
        else:
            reveal_rank(loss)  # revealed: local(data)
        if accelerator.num_processes == 4:
            reveal_rank(loss)  # revealed: local(data)
        else:
            reveal_rank(loss)  # revealed: local(data)

        world = dist.get_world_size() if dist.is_initialized() else 1
        if world == 1:
            reveal_rank(loss)  # revealed: never
        distributed = world > 1
        if distributed:
            reveal_rank(loss)  # revealed: local(data)
        else:
            reveal_rank(loss)  # revealed: never
        if not distributed:
            reveal_rank(loss)  # revealed: never
        if int(os.environ.get("WORLD_SIZE", 1)) == 1:
            reveal_rank(loss)  # revealed: never
        if int(os.environ["WORLD_SIZE"]) > 1:
            reveal_rank(loss)  # revealed: local(data)
        if accelerator.use_distributed:
            reveal_rank(loss)  # revealed: local(data)
        else:
            reveal_rank(loss)  # revealed: never
        if torch.cuda.device_count() > 1:
            reveal_rank(loss)  # revealed: local(data)
        else:
            reveal_rank(loss)  # revealed: never
        if PartialState().num_processes == 1:
            reveal_rank(loss)  # revealed: never
        if self.args.world_size > 1:
            reveal_rank(loss)  # revealed: local(data)
        else:
            reveal_rank(loss)  # revealed: never

        d = accelerator.gather(loss) if accelerator.num_processes > 1 else loss
        reveal_rank(d)  # revealed: same
        e = loss if accelerator.num_processes == 1 else accelerator.gather(loss)
        reveal_rank(e)  # revealed: same
        f = loss
        if self.args.flag and accelerator.num_processes > 1:
            f = accelerator.gather(loss)
        reveal_rank(f)  # revealed: local(data)
        assert not dist.is_initialized() or loss is not None
        while accelerator.num_processes == 1:
            reveal_rank(loss)  # revealed: never
        reveal_rank(accelerator.num_processes)  # revealed: same
        reveal_rank(accelerator.num_processes > 1)  # revealed: same
        reveal_rank(loss * accelerator.num_processes)  # revealed: local(data)
        return loss


class Reducer:
    """A helper that checks in its constructor whether there are several ranks."""

    def __init__(self):
        self.accelerator = Accelerator()
        self.distributed = self.accelerator.num_processes > 1

    def mean(self, value):
        if self.distributed:
            return self.accelerator.gather(value).mean()
        return value


DISTRIBUTED = int(os.environ.get("WORLD_SIZE", "1")) > 1
accelerator = Accelerator()


def module_flag(model, loader):
    for batch in accelerator.prepare(make_loader()):
        value = batch["x"].mean()
        if DISTRIBUTED:
            value = accelerator.gather(value).mean()
        reveal_rank(value)  # revealed: same
        reveal_rank(Reducer().mean(batch["x"].mean()))  # revealed: same


def lists_with_one_element_per_rank(model, loader):
    for batch in accelerator.prepare(make_loader()):
        own = batch["x"].mean()
        world = accelerator.num_processes
        parts = [None for _ in range(world)]
        reveal_rank(1 if len(parts) > 1 else own)  # revealed: same
        reveal_rank(1 if parts else own)  # revealed: same
        reveal_rank(1 if [None] * world else own)  # revealed: same
        reveal_rank(1 if [part for part in parts if part] else own)  # revealed: local(data)
        reveal_rank(1 if len({part for part in parts}) > 1 else own)  # revealed: local(data)
        reveal_rank(1 if len(parts[1:]) > 1 else own)  # revealed: local(data)
        parts.pop()
        reveal_rank(1 if len(parts) > 1 else own)  # revealed: local(data)
