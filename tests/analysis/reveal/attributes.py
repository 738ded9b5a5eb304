"""Attributes of trainers, models, classes and plain objects, however they are reached."""

import torch
import transformers
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import Trainer


class Config:
    beta = 0.1

    def __init__(self, lr):
        self.lr = lr


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


class Base(Trainer):
    store = None
    limit = 3

    def __init__(self, *args, config=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.config = config or Config(1e-4)
        self.flag = True
        self.history = []
        self.cache = {}
        self.maybe = None
        self.metric_fn = torch.mean
        self.tuple = (1, 2)
        self.net = Model()

    @property
    def value(self):
        return self.accelerator.process_index

    @staticmethod
    def compute(x):
        return x.sum()

    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        reveal_rank(self.config.lr)  # revealed: same
        reveal_rank(Config.beta)  # revealed: same
        reveal_rank(self.limit)  # revealed: same
        reveal_rank(Base.limit)  # revealed: same
        reveal_rank(type(self).limit)  # revealed: same
        reveal_rank(self.value)  # revealed: local(rank)
        reveal_rank(self.compute(inputs["x"]))  # revealed: partial(sum)
        reveal_rank(self.metric_fn(inputs["x"]))  # revealed: partial(mean)
        reveal_rank(self.net(inputs["x"]))  # revealed: shard
        self.history.append(loss)
        reveal_rank(self.history[-1])  # revealed: local(data)
        self.cache["a"] = loss
        self.cache["b"] = 1.0
        reveal_rank(self.cache["b"])  # revealed: same
        if self.maybe is None:
            self.maybe = loss.detach()
        reveal_rank(self.maybe)  # revealed: local(data)
        a, self.pair = loss, 1.0
        reveal_rank(self.pair)  # revealed: same
        self.x = self.y = loss
        reveal_rank(self.y)  # revealed: local(data)
        setattr(self, "kept", inputs["x"])
        reveal_rank(self.kept)  # revealed: shard
        reveal_rank(getattr(self, "kept"))  # revealed: shard
        reveal_rank(self.tuple[0])  # revealed: same
        me = self
        reveal_rank(me.x)  # revealed: local(data)
        me.z = loss
        reveal_rank(self.z)  # revealed: local(data)
        reveal_rank(model.config.hidden_size)  # revealed: same
        reveal_rank(self.model.config.hidden_size)  # revealed: same
        reveal_rank(self.model.device)  # revealed: same
        reveal_rank(model.device)  # revealed: same
        reveal_rank(next(model.parameters()).device)  # revealed: same
        reveal_rank(sum(p.numel() for p in model.parameters()))  # revealed: same
        reveal_rank(model.state_dict()["a"])  # revealed: same
        reveal_rank(self.model.lm_head.weight)  # revealed: same
        with torch.no_grad():
            reveal_rank(self.model.lm_head(inputs["x"]))  # revealed: shard
        wrapped = DDP(self.net)
        reveal_rank(wrapped(inputs["x"]))  # revealed: shard
        reveal_rank(torch.nn.functional.kl_div(inputs["x"], inputs["y"]))  # revealed: local(data)
        reveal_rank(loss.item().real)  # revealed: local(data)
        reveal_rank(transformers.__version__)  # revealed: same
        return loss

    def clear(self):
        reveal_rank(self.history)  # revealed: same
        reveal_rank(len(self.history))  # revealed: same
        reveal_rank(sum(self.history))  # revealed: local(data)
        self.history.clear()
        reveal_rank(self.tuple)  # revealed: same
        reveal_rank(self.x)  # revealed: local(data)


def names(anything):
    reveal_rank(anything.__class__.__name__)  # revealed: same
    reveal_rank(type(anything).__name__)  # revealed: same
    reveal_rank(anything.__class__.limit)  # revealed: unknown


names(None)
