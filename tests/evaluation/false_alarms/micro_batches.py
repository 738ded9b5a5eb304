# A DistributedSampler gives all ranks equally many rows, so that they split their batches into equally many parts.
from contextlib import nullcontext

import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def parts_of(batch, size):
    parts = []
    for start in range(0, batch["input_ids"].size(0), size):
        parts.append({key: batch[key][start : start + size] for key in batch})
    return parts


def by_rows(model, dataset, size):
    for batch in DataLoader(dataset, sampler=DistributedSampler(dataset), batch_size=8):
        for part in parts_of(batch, size):
            dist.all_reduce(model(**part).loss)


def by_contexts(model, dataset, size):
    for batch in DataLoader(dataset, sampler=DistributedSampler(dataset), batch_size=8):
        parts = parts_of(batch, size)
        contexts = [model.no_sync for _ in range(len(parts) - 1)] + [nullcontext]
        for part, context in zip(parts, contexts, strict=True):
            with context():
                dist.all_reduce(model(**part).loss)


def by_content(model, dataset):
    for batch in DataLoader(dataset, sampler=DistributedSampler(dataset), batch_size=8):
        for _ in range(int(batch["attention_mask"].sum())):
            dist.all_reduce(model(**batch).loss)  # expect: TRL006
