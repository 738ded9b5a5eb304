# All full batches have as many images, but each image has as many boxes as it has.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def as_lists(batch):
    return tuple(zip(*batch))


def skip_without_boxes(model, loader):
    for images, targets in loader:
        targets = [{name: field.cuda() for name, field in target.items()} for target in targets]
        if all(len(target["boxes"]) == 0 for target in targets):
            continue  # expect: TRL006
        sum(model(images, targets).values()).backward()


def skip_few_boxes(model, loader):
    for images, targets in loader:
        if max(len(target["boxes"]) for target in targets) < 2:
            continue  # expect: TRL006
        sum(model(images, targets).values()).backward()


def skip_small_batches(model, loader):
    for batch in loader:
        images, targets = [field for field in batch]
        if len(images) < 2 or len(targets) < 2:
            continue
        sum(model(images, targets).values()).backward()


def skip_small_batches_of_parts(model, loader):
    for batch in loader:
        parts = [part.cuda() for part in batch]
        if len(parts[0]) < 2 or parts[1].shape[0] < 2:
            continue
        model(*parts).sum().backward()


def main(rows, net):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    model = DistributedDataParallel(net.cuda())
    sampler = DistributedSampler(rows, shuffle=False)
    loader = DataLoader(rows, batch_size=4, sampler=sampler, collate_fn=as_lists, drop_last=True)
    skip_without_boxes(model, loader)
    skip_few_boxes(model, loader)
    skip_small_batches(model, loader)
    skip_small_batches_of_parts(model, loader)


main([], torch.nn.Linear(1, 2))
