"""Loaders of other libraries that inherit from torch's, and MONAI's inferers, which call the model that they get."""

import somebody.data
from monai.data import DataLoader, ThreadDataLoader
from monai.inferers import DiffusionInferer
from torch.utils.data import DistributedSampler
from torch_geometric.loader import DataLoader as GraphLoader
from torch_geometric.loader import NeighborLoader
from torchdata.stateful_dataloader import StatefulDataLoader

dataset = load()

for batch in DataLoader(dataset, num_workers=4, sampler=DistributedSampler(dataset)):
    reveal_rank(batch["image"])  # revealed: shard
    inferer = DiffusionInferer(make_scheduler())
    noise = inferer(inputs=batch["image"], diffusion_model=unet, noise=batch["image"] * 0)
    reveal_rank(noise)  # revealed: shard
    reveal_rank(inferer.of(batch["image"]))  # revealed: unknown
for batch in DataLoader(dataset, num_workers=4):
    reveal_rank(batch["image"])  # revealed: unknown
for batch in GraphLoader(dataset, batch_size=2, sampler=DistributedSampler(dataset)):
    reveal_rank(batch.num_graphs)  # revealed: shard
for batch in NeighborLoader(dataset, [2], sampler=DistributedSampler(dataset)):
    reveal_rank(batch.x)  # revealed: shard
for batch in somebody.data.DataLoader(dataset, sampler=DistributedSampler(dataset)):
    reveal_rank(batch["image"])  # revealed: shard
for batch in somebody.data.DataLoader(dataset):
    reveal_rank(batch["image"])  # revealed: unknown
for batch in ThreadDataLoader(dataset, num_workers=4, sampler=DistributedSampler(dataset)):
    reveal_rank(batch["image"])  # revealed: shard
for batch in StatefulDataLoader(dataset, sampler=DistributedSampler(dataset)):
    reveal_rank(batch)  # revealed: shard
for batch in StatefulDataLoader(dataset):
    reveal_rank(batch)  # revealed: unknown
