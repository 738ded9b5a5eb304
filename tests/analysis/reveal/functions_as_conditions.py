"""A function that is tested instead of being called is true. One that is imported by name may be None elsewhere."""

import os

import torch.distributed as dist
from transformers import Trainer

try:
    from torch.distributed import is_torchelastic_launched
    from wandb import init
except ImportError:
    init = is_torchelastic_launched = None


class Tested(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        if not os.path.exists:
            reveal_rank(inputs)  # revealed: never
        if dist.is_initialized and model:
            reveal_rank(self.args)  # revealed: same
        else:
            reveal_rank(self.args)  # revealed: same
        if not os.path.exists or not dist.is_initialized:
            reveal_rank(self.args)  # revealed: never
        if not dist.is_initialized():
            reveal_rank(self.args)  # revealed: never
        if not os.path.exists("data"):
            reveal_rank(self.args)  # revealed: same
        if not init:
            reveal_rank(self.args)  # revealed: same
        if not is_torchelastic_launched:
            reveal_rank(self.args)  # revealed: same
        reveal_rank(3 if os.path.exists else inputs)  # revealed: same
