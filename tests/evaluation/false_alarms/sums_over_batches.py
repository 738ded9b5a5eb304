"""Means added up over the batches count each batch the same, as on one process; those of one batch do not."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def averaged_over_ranks(value, world_size):
    value = torch.tensor(value, device="cuda")
    dist.all_reduce(value)
    return value.item() / world_size


def share(outputs, batch):
    mask = batch["labels"].ne(-100)
    return ((outputs.argmax(-1) == batch["labels"]) * mask).sum() / mask.sum()


def by_batches(model, loader, world_size):
    total, number = 0.0, 0
    for batch in loader:
        total += share(model(batch["x"]), batch).item()
        number += 1
    return averaged_over_ranks(total / number, world_size)


def by_batches_with_assignment(model, loader, world_size):
    total = torch.zeros((), device="cuda")
    for batch in loader:
        total = total + share(model(batch["x"]), batch)
    return averaged_over_ranks(total.item() / len(loader), world_size)


def in_entries(model, loader, world_size):
    sums = {"share": 0.0}
    for batch in loader:
        sums["share"] += share(model(batch["x"]), batch).item()
        sums["half"] = sums.get("half", 0.0) + share(model(batch["x"]), batch).item() / 2
    for key in sums:
        sums[key] = averaged_over_ranks(sums[key] / len(loader), world_size)
    return sums


def since_the_last_log(model, loader, world_size):
    total = 0.0
    for step, batch in enumerate(loader, 1):
        total += share(model(batch["x"]), batch).item()
        if step % 100 == 0:
            print(averaged_over_ranks(total / 100, world_size))
            total = 0.0


def by_steps(model, loader, world_size):
    batches, total = iter(loader), 0.0
    for _ in range(100):
        batch = next(batches)
        total += share(model(batch["x"]), batch).item()
    return averaged_over_ranks(total / 100, world_size)


def of_each_batch(model, loader, world_size):
    for batch in loader:
        print(averaged_over_ranks(share(model(batch["x"]), batch).item(), world_size))  # expect: TRL007


def over_heads(model, loader, world_size):
    for batch in loader:
        total = 0.0
        for head in range(4):
            total += share(model(batch["x"], head=head), batch).item()
        print(averaged_over_ranks(total / 4, world_size))  # expect: TRL007


def of_two_terms(model, loader, world_size):
    for batch in loader:
        one = share(model(batch["x"]), batch)
        both = one + share(model(batch["y"]), batch)
        print(averaged_over_ranks(both.item(), world_size))  # expect: TRL007


def of_all_elements(model, loader, world_size):
    right, number = 0, 0
    for batch in loader:
        mask = batch["labels"].ne(-100)
        right += ((model(batch["x"]).argmax(-1) == batch["labels"]) * mask).sum().item()
        number += mask.sum().item()
    return averaged_over_ranks(right / number, world_size)  # expect: TRL007


def main(dataset, net):
    dist.init_process_group("nccl")
    world_size = dist.get_world_size()
    loader = DataLoader(dataset, batch_size=8, sampler=DistributedSampler(dataset, shuffle=False))
    model = DistributedDataParallel(net)
    print(by_batches(model, loader, world_size))
    print(by_batches_with_assignment(model, loader, world_size))
    print(in_entries(model, loader, world_size))
    since_the_last_log(model, loader, world_size)
    print(by_steps(model, loader, world_size))
    of_each_batch(model, loader, world_size)
    over_heads(model, loader, world_size)
    of_two_terms(model, loader, world_size)
    print(of_all_elements(model, loader, world_size))
