# A distributed sampler evens out the rows of a batch; the dataset determines the keys of a batch.
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def by_chunks(model, dataset, device):
    loader = DataLoader(dataset, batch_size=16, sampler=DistributedSampler(dataset), drop_last=True)
    for batch in loader:
        rows = batch["input_ids"].shape[0]
        if rows % 4 != 0:
            continue
        for index in range(rows // 4):
            loss = model(batch["input_ids"][4 * index : 4 * index + 4].to(device)).loss
            dist.all_reduce(loss)


def by_keys(model, dataset):
    loader = DataLoader(dataset, batch_size=16, sampler=DistributedSampler(dataset, shuffle=True))
    for batch in loader:
        for key, tensor in batch.items():
            if key != "labels":
                dist.all_reduce(tensor)
        if "weights" in batch:
            dist.all_reduce(batch["weights"])


def by_content(model, dataset):
    loader = DataLoader(dataset, batch_size=16, sampler=DistributedSampler(dataset))
    for batch in loader:
        if (batch["labels"] == -100).all():
            continue  # expect: TRL006
        dist.all_reduce(model(**batch).loss)
