"""Reductions that the tables of library calls do not cover yet."""

import torch
import torch.nn.functional as F
from transformers import Trainer


class Operators(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        x, y = inputs["x"].float(), inputs["y"].float()
        reveal_rank(F.mse_loss(x, y, reduction="sum"))  # revealed: partial(sum)
        reveal_rank(torch.stack([x.sum(), y.sum()]))  # revealed: partial(sum)
        reveal_rank(torch.cat([x.sum().view(1), y.sum().view(1)]))  # revealed: partial(sum)
        reveal_rank(torch.tensor([len(x)]))  # revealed: partial(count)
        # The first of a model's outputs is its loss when there are labels, else its logits.
        reveal_rank(model(**inputs)[0])  # revealed: local(data)
        return x.mean()
