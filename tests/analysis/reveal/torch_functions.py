"""Functions of torch, numpy and math."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pad_sequence
from torch.utils.checkpoint import checkpoint
from transformers import Trainer


class Functions(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.criterion = nn.CrossEntropyLoss()
        self.elementwise = nn.BCEWithLogitsLoss(reduction="none")
        self.projection = nn.Linear(4, 4)

    def training_step(self, model, inputs, num_items_in_batch=None):
        x, y = inputs["x"].float(), inputs["y"].float()
        loss = model(**inputs).loss

        reveal_rank(torch.sum(x))  # revealed: partial(sum)
        reveal_rank(torch.mean(x, dim=0))  # revealed: partial(mean)
        reveal_rank(torch.mean(x, dim=1))  # revealed: shard
        reveal_rank(torch.max(x))  # revealed: partial(max)
        reveal_rank(torch.max(x, y))  # revealed: shard
        reveal_rank(torch.abs(x))  # revealed: shard
        reveal_rank(torch.exp(x.mean()))  # revealed: local(data)
        reveal_rank(torch.argmax(x, dim=-1))  # revealed: shard
        reveal_rank(torch.argmax(x))  # revealed: local(data)
        reveal_rank(torch.equal(x, y))  # revealed: local(data)
        reveal_rank(torch.tensor(1.0))  # revealed: same
        reveal_rank(torch.tensor(loss.item()))  # revealed: local(data)
        reveal_rank(torch.tensor(x.sum().item()))  # revealed: partial(sum)
        reveal_rank(torch.tensor([1.0, 2.0]))  # revealed: same
        reveal_rank(torch.as_tensor(x))  # revealed: shard
        reveal_rank(torch.ones(len(x)))  # revealed: same
        reveal_rank(torch.full((4,), 2.0))  # revealed: same
        reveal_rank(torch.full((4,), loss.item()))  # revealed: local(data)
        reveal_rank(torch.full_like(x, 2.0))  # revealed: same
        reveal_rank(torch.full_like(x, fill_value=loss))  # revealed: local(data)
        reveal_rank(torch.zeros_like(x))  # revealed: same
        reveal_rank(torch.arange(4))  # revealed: same
        reveal_rank(torch.rand_like(x))  # revealed: local(rng)
        reveal_rank(torch.multinomial(x, 1))  # revealed: local(data, rng)
        reveal_rank(torch.manual_seed(0))  # revealed: same
        reveal_rank(torch.stack([x, y], dim=0))  # revealed: shard
        reveal_rank(torch.stack([loss, torch.zeros(())]))  # revealed: local(data)
        reveal_rank(torch.cat([torch.zeros(1), torch.ones(1)]))  # revealed: same
        reveal_rank(pad_sequence([x, y], batch_first=True))  # revealed: shard
        reveal_rank(torch.where(x > 0, 1.0, 0.0))  # revealed: shard
        reveal_rank(torch.einsum("bi,bj->bij", x, y))  # revealed: shard
        reveal_rank(rearrange(x, "b s -> s b"))  # revealed: shard
        reveal_rank(torch.is_tensor(x))  # revealed: same
        reveal_rank(torch.finfo(x.dtype).max)  # revealed: same
        reveal_rank(torch.device("cuda"))  # revealed: same
        reveal_rank(torch.load("file"))  # revealed: unknown
        reveal_rank(torch.save(x, "file"))  # revealed: unknown
        reveal_rank(clip_grad_norm_(model.parameters(), 1.0))  # revealed: same

        reveal_rank(F.relu(x))  # revealed: shard
        reveal_rank(F.log_softmax(x, dim=-1))  # revealed: shard
        reveal_rank(F.logsigmoid(x).mean())  # revealed: partial(mean)
        reveal_rank(F.cross_entropy(x, y))  # revealed: local(data)
        reveal_rank(F.cross_entropy(x, y, reduction="none").sum())  # revealed: partial(sum)
        reveal_rank(self.criterion(x, y))  # revealed: local(data)
        reveal_rank(self.projection(x))  # revealed: shard
        reveal_rank(nn.Softmax(dim=-1)(x))  # revealed: shard
        reveal_rank(checkpoint(F.relu, x))  # revealed: shard

        reveal_rank(np.sum(x))  # revealed: partial(sum)
        reveal_rank(np.array([loss.item(), 1.0]))  # revealed: local(data)
        reveal_rank(np.array([1.0, 2.0]).mean())  # revealed: same
        reveal_rank(np.concatenate([x, y]))  # revealed: shard
        reveal_rank(np.exp(loss.item()))  # revealed: local(data)
        reveal_rank(np.zeros(3))  # revealed: same
        reveal_rank(math.exp(loss.item()))  # revealed: local(data)
        reveal_rank(math.log(2))  # revealed: same
        reveal_rank(math.pi)  # revealed: same
        reveal_rank(math.fsum([loss.item(), 1.0]))  # revealed: local(data)
        with torch.no_grad():
            reveal_rank(model(**inputs).logits)  # revealed: shard
        return loss
