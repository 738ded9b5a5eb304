"""Samplers that order the rows for all ranks, or deal them in loaders that nothing else deals, beside some that deal
rows which the Trainer's loader, or `prepare`, deals again."""

import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader, Dataset, DistributedSampler, RandomSampler, Sampler
from transformers import Trainer


class GroupedSampler(Sampler):
    """Rows of about the same length, in an order in which the batches of all ranks are next to each other."""

    def __init__(self, lengths, batch_size, world_size):
        self.lengths, self.batch_size, self.world_size = lengths, batch_size, world_size

    def __len__(self):
        return len(self.lengths)

    def __iter__(self):
        order = torch.randperm(len(self.lengths)).tolist()
        size = self.batch_size * self.world_size
        groups = [sorted(order[i : i + size], key=self.lengths.__getitem__) for i in range(0, len(order), size)]
        chunks = [[group[i :: self.world_size] for i in range(self.world_size)] for group in groups]
        return iter([i for group in chunks for chunk in group for i in chunk])


class GroupingTrainer(Trainer):
    def _get_train_sampler(self):
        return GroupedSampler(self.train_dataset.lengths, self.args.train_batch_size, self.args.world_size)


class DealingTrainer(Trainer):
    def _get_train_sampler(self):
        return DistributedSampler(self.train_dataset)  # expect: TRL022


class LegacyTrainer(Trainer):
    """Is for releases whose loaders were not prepared."""

    def _get_train_sampler(self):
        alone = self.args.local_rank == -1
        return RandomSampler(self.train_dataset) if alone else DistributedSampler(self.train_dataset)


class SamplerTrainer(Trainer):
    """Is given a sampler, whose loader it only prepares if that does not deal the rows."""

    def __init__(self, *args, sampler=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.sampler = sampler

    def get_train_dataloader(self):
        sampler = self.sampler if self.sampler is not None else DistributedSampler(self.train_dataset)
        loader = DataLoader(self.train_dataset, batch_size=4, sampler=sampler)
        if isinstance(sampler, DistributedSampler):
            return loader
        return self.accelerator.prepare(loader)


class Rows(Dataset):
    """All rows, or those of a node."""

    def __init__(self, paths, shard=0, shards=1):
        self.paths = paths[shard::shards]

    def __len__(self):
        return len(self.paths)


def node_loader(paths, node, nodes):
    accelerator = Accelerator()
    return accelerator.prepare(DataLoader(Rows(paths, node, nodes), batch_size=4))


def rank_loader(paths):
    accelerator = Accelerator()
    rows = Rows(paths, accelerator.process_index, accelerator.num_processes)
    return DataLoader(rows, batch_size=4)


def loader_of(rows, own_sampler):
    accelerator = Accelerator()
    sampler = DistributedSampler(rows) if own_sampler else None
    loader = DataLoader(rows, batch_size=4, shuffle=sampler is None, sampler=sampler)
    return loader if own_sampler else accelerator.prepare(loader)


def split_rows(splits):
    """One of the splits is dealt here, and the other one by `prepare`."""
    accelerator = Accelerator()
    splits["train"] = splits["train"].shard(accelerator.num_processes, accelerator.process_index)
    return splits["train"], splits["test"]


def split_loaders(name):
    own, rows = split_rows(load_dataset(name))
    accelerator = Accelerator()
    return DataLoader(own, batch_size=4), accelerator.prepare(DataLoader(rows, batch_size=4))


def prepared_splits(name):
    splits = load_dataset(name)
    accelerator = Accelerator()
    for split in splits:
        splits[split] = splits[split].shard(accelerator.num_processes, accelerator.process_index)  # expect: TRL022
    return accelerator.prepare(DataLoader(splits["train"], batch_size=4))


def prepared(rows):
    accelerator = Accelerator()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)  # expect: TRL022
    return accelerator.prepare(loader)
