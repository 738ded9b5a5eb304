"""Batches of a data set of the project that is made of this rank's share of the rows, or of all of them."""

import torch.distributed as dist
from datasets import load_dataset
from torch.utils.data import DataLoader, IterableDataset


class Tokenized(IterableDataset):
    def __init__(self, rows, tokenizer):
        self.rows = rows
        self.tokenizer = tokenizer

    def __iter__(self):
        for row in self.rows:
            yield self.tokenizer(row["text"])


def train(tokenizer):
    rows = load_dataset("text", split="train", streaming=True)
    share = rows.shuffle(seed=3).shard(num_shards=dist.get_world_size(), index=dist.get_rank())

    loader = DataLoader(Tokenized(share, tokenizer), batch_size=2)
    for batch in loader:
        reveal_rank(batch)  # revealed: shard
    reveal_rank([next(iter(loader)) for _ in range(3)][0])  # revealed: shard

    for batch in DataLoader(Tokenized(rows, tokenizer), batch_size=2):
        reveal_rank(batch)  # revealed: unknown
