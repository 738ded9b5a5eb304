"""Temporal divergence, and functions that are left at different places."""

import torch.distributed as dist
from transformers import Trainer


def main_only(value):
    if dist.get_rank() != 0:
        return None
    return value


def graded(loss):
    if loss > 1:
        return 1.0
    return 0.0


class Control(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        same = self.accelerator.gather(loss).mean()
        count = 0
        for _ in inputs["x"]:
            count += 1
        reveal_rank(count)  # revealed: local(data)
        tries = 0
        while True:
            tries += 1
            if loss > 3:
                break
        reveal_rank(tries)  # revealed: local(data)
        reveal_rank(main_only(same))  # revealed: local(rank)
        reveal_rank(graded(loss))  # revealed: local(data)
        return count


def switched_off(accelerator, maybe):
    """A condition that is always false, and similar ones."""
    reveal_rank(accelerator.is_main_process or 1)  # revealed: same
    reveal_rank(accelerator.is_main_process or True)  # revealed: same
    reveal_rank(accelerator.is_main_process and 0)  # revealed: same
    reveal_rank(accelerator.is_main_process or 0)  # revealed: local(rank)
    reveal_rank(accelerator.is_main_process and 1)  # revealed: local(rank)
