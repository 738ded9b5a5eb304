"""Ray Train's helpers: each worker has a rank, a share of the rows, and the model in a wrapper."""

import ray.train
import ray.train.torch
from ray.train.torch import prepare_data_loader
from torch.utils.data import DataLoader


def work(rows, net) -> None:
    model = ray.train.torch.prepare_model(net)
    for batch in prepare_data_loader(DataLoader(rows, batch_size=8)):
        reveal_rank(model(batch["x"]))  # revealed: shard
    context = ray.train.get_context()
    reveal_rank(context.get_world_rank())  # revealed: local(rank)
    reveal_rank(context.get_world_size())  # revealed: same
