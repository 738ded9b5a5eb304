# Rows that code pads to the longest one by hand: its own on each rank, so that the tensors are not alike.
import torch
import torch.distributed as dist
from accelerate import Accelerator


def padded(rows, longest):
    out = torch.full((len(rows), longest), 0, dtype=torch.long, device="cuda")
    for i, row in enumerate(rows):
        out[i, : len(row)] = torch.tensor(row, device="cuda")
    return out


def of_own_rows(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        longest = max(len(row) for row in batch["ids"])
        ids = padded(batch["ids"], longest)
        keep = ids.shape[1]
        logits = model(ids).logits[:, -keep:]
        logps = torch.log_softmax(logits, -1).gather(-1, ids.unsqueeze(-1)).squeeze(-1)
        print(accelerator.gather(ids))  # expect: TRL005
        print(accelerator.gather(logps))  # expect: TRL005
        print(accelerator.gather(logps.sum(-1)))
        print(accelerator.gather(accelerator.pad_across_processes(ids, dim=1)))


def of_mapped_rows(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        ids = padded(batch["ids"], max(map(len, batch["ids"])))
        print(accelerator.gather(ids))  # expect: TRL005
        model(ids)


def of_rows_of_all(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        longest = torch.tensor(max(len(row) for row in batch["ids"]), device="cuda")
        dist.all_reduce(longest, op=dist.ReduceOp.MAX)
        ids = padded(batch["ids"], int(longest.item()))
        print(accelerator.gather(ids))
        model(ids)


def of_one_length(model, loader, limit):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        ids = padded(batch["ids"], limit)
        print(accelerator.gather(ids))
        # Both may be the limit on all ranks.
        cut = padded(batch["ids"], max(max(len(row) for row in batch["ids"]), limit))
        print(accelerator.gather(cut))
        # Rows of a tensor are alike, and nothing else is known of these.
        most = padded(batch["ids"], max(row.sum() for row in batch["ids"]))
        print(accelerator.gather(most))
        model(ids)


def of_rows_that_all_have(model, loader, rows):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        ids = padded(rows, max(len(row) for row in rows))
        print(accelerator.gather(model(ids, batch)), accelerator.gather(ids))


def of_columns(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        # As many samples in each, and on each rank.
        samples = max(len(each) for each in (batch["ids"], batch["labels"]))
        print(accelerator.gather(padded(batch["ids"], samples)))
        samples = max(len(each) for each in batch.values())
        print(accelerator.gather(padded(batch["ids"], samples)))
        samples = max(map(len, [batch["ids"], batch["labels"]]))
        print(accelerator.gather(padded(batch["ids"], samples)))
        model(batch["ids"])
