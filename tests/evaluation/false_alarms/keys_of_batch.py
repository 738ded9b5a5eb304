# A batch that is read by key has the same keys on all ranks, however its values differ.
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import tqdm


def of_all_ranks(model, loader):
    rows = []
    for data in tqdm(loader):
        model(data["input_ids"])
        for k in data:
            data[k] = gather_object(data[k])
        rows.append(data["text"])
    return rows


def sampled(dataset):
    for batch in DataLoader(dataset, batch_size=16, sampler=DistributedSampler(dataset)):
        for key in sorted(batch):
            if key != "labels":
                dist.all_reduce(batch[key])
        for _number, key in enumerate(batch):
            dist.all_reduce(batch[key])
        for key in [each for each in batch if each.endswith("_ids")]:
            dist.all_reduce(batch[key])


def parts(loader):
    for batch in loader:
        for part in batch:
            dist.all_reduce(part)


def counted(model, loader, accelerator):
    seen = 0
    name = getattr(model, "main_input_name", "input_ids")
    for batch in loader:
        if name not in batch:
            print("nothing to count")
        else:
            seen += accelerator.gather(batch[name]).numel()
    return seen


def entries(loader):
    for data in loader:
        for k in data:
            if data[k].sum() > 0:
                dist.all_reduce(data[k])  # expect: TRL006
        for place in data["labels"].nonzero():
            dist.all_reduce(place)  # expect: TRL006
        for one in [one for one in data["labels"] if one > 0]:
            dist.all_reduce(one)  # expect: TRL006


def main(model, dataset):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(dataset, batch_size=16))
    of_all_ranks(model, loader)
    counted(accelerator.unwrap_model(model), loader, accelerator)
    sampled(dataset)
    parts(loader)
    entries(loader)
