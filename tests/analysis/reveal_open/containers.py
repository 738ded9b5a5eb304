"""Containers whose entries are not kept separate."""

from collections import OrderedDict

import torch
from transformers import Trainer


def reduce_each(accelerator, metrics):
    for key in metrics:
        metrics[key] = accelerator.gather(metrics[key]).mean()
    return metrics


class Containers(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        same = self.accelerator.gather(loss).mean()

        # Each entry is a separate list.
        lists = {key: [] for key in ("a", "b")}
        lists["a"].append(loss)
        lists["b"].append(same)
        reveal_rank(lists["a"][0])  # revealed: local(data)
        reveal_rank(lists["b"][0])  # revealed: same

        merged = {"a": same} | {"b": loss}
        reveal_rank(merged["a"])  # revealed: same
        reveal_rank(merged["b"])  # revealed: local(data)
        ordered = OrderedDict(a=loss, b=same)
        reveal_rank(ordered["a"])  # revealed: local(data)
        reveal_rank(ordered["b"])  # revealed: same

        # A loop over the keys of a known dict acts key by key, too.
        metrics = {"a": loss, "b": loss}
        reduce_each(self.accelerator, metrics)
        reveal_rank(metrics["a"])  # revealed: same
        reveal_rank(metrics["b"])  # revealed: same

        # Another key of a batch leaves its own keys a shard.
        inputs["extra"] = torch.zeros(1)
        reveal_rank(inputs["x"])  # revealed: shard
        reveal_rank(inputs.pop("y"))  # revealed: shard
        return loss
