"""A model's attribute that is called at once is a module."""

import torch
from torch.nn.parallel import DistributedDataParallel
from transformers import Trainer


class Models(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        reveal_rank(model.module(**inputs).loss)  # revealed: local(data)
        wrapped = DistributedDataParallel(torch.nn.Linear(2, 2))
        reveal_rank(wrapped.module(inputs["x"]))  # revealed: shard
        reveal_rank(self.model.get_input_embeddings()(inputs["x"]))  # revealed: shard
        rows = [{"x": row, "y": None} for row in inputs["x"]]
        reveal_rank(wrapped(rows))  # revealed: shard
        reveal_rank(wrapped({"rows": [{"x": inputs["x"]}]}))  # revealed: local(data)
        reveal_rank(wrapped([{"x": torch.zeros(2)}]))  # revealed: same
        return model(**inputs).loss
