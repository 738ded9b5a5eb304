# A size that is found in each turn of a loop, and bounds a loop behind it, is the same in all turns.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def gathered(values):
    parts = [torch.ones_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, values)
    return torch.cat(parts)


def gathered_found(values):
    parts = [torch.ones_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, values)  # expect: TRL005
    return torch.cat(parts)


def scored(found, count):
    totals = torch.zeros(count).to(found.device)
    totals += found.sum()
    return totals


def by_class(model, loader):
    scores = []
    for images, classes in loader:
        count = torch.nonzero(classes.squeeze(0) + 1).shape[0]
        scores.append(gathered(scored(model(images), count)))
    return [torch.stack([score[place] for score in scores]).mean() for place in range(count)]


def by_class_in_a_loop(model, loader):
    scores, means = [], []
    for images, classes in loader:
        count = torch.nonzero(classes.squeeze(0) + 1).shape[0]
        scores.append(gathered(scored(model(images), count)))
    for place in range(0, count):
        means.append(torch.stack([score[place] for score in scores]).mean())
    return means


def all_found(model, loader):
    scores = []
    for images, classes in loader:
        count = torch.nonzero(classes.squeeze(0) + 1).shape[0]
        for place in range(count):
            print(place)
        scores.append(gathered_found(scored(model(images), count)))
    return scores


def main(model, dataset):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    loader = DataLoader(dataset, batch_size=1, sampler=DistributedSampler(dataset, shuffle=False))
    model = DistributedDataParallel(model.cuda())
    return by_class(model, loader), by_class_in_a_loop(model, loader), all_found(model, loader)
