# Gathered lengths cut the data to the same length on all ranks.
import torch
import torch.distributed as dist
from accelerate import Accelerator


def by_longest(accelerator, ids, mask):
    longest = accelerator.gather(mask.sum(dim=1)).max()
    ids = ids[:, :longest]
    if ids.shape[1] > 512:
        return accelerator.gather(ids[:, :512])
    return accelerator.gather(ids)


def by_fewest(rows, scores):
    fewest = torch.tensor(len(rows), device="cuda")
    dist.all_reduce(fewest, op=dist.ReduceOp.MIN)
    kept = rows[: fewest.item()]
    for row in kept:
        dist.all_reduce(scores[row])


def by_own(rows, scores):
    kept = [row for row in rows if row.sum() > 0]
    for row in kept:
        dist.all_reduce(scores[row])  # expect: TRL006


def train(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        by_longest(accelerator, batch["input_ids"], batch["attention_mask"])
        by_fewest(list(batch["input_ids"]), model(**batch).logits)
        by_own(batch["input_ids"], model(**batch).logits)
