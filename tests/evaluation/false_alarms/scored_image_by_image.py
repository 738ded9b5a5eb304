# A decorator calls a metric once per image: the mean of a batch is one over its images, however many pixels they have.
import os

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def without_gradients(function):
    def wrapper(*args):
        with torch.no_grad():
            return function(*args)

    return wrapper


def for_each_image(metric):
    def wrapper(found, wanted, masks, *args):
        scores = []
        for number in range(wanted.shape[0]):
            score = metric(found[number], wanted[number], masks[number], *args)
            scores.append(score)
        return torch.stack(scores).mean()

    return wrapper


def over_images(metric):
    def wrapper(*batches):
        return torch.stack([metric(*each) for each in zip(*batches, strict=True)]).mean()

    return wrapper


def until_it_works(metric):
    def wrapper(*args):
        for trial in range(3):
            try:
                return metric(*args)
            except RuntimeError:
                print("trial", trial)
        return metric(*args)

    return wrapper


@without_gradients
@for_each_image
def far_off(found, wanted, mask, limit):
    found, wanted = found[mask], wanted[mask]
    return torch.mean(((found - wanted).abs() > limit).float())


@over_images
def error(found, wanted, mask):
    return (found[mask] - wanted[mask]).abs().mean()


@without_gradients
@until_it_works
def error_of_all(found, wanted, mask):
    found, wanted = found[mask], wanted[mask]
    return torch.mean((found - wanted).abs())


def validate(model, loader):
    for batch in loader:
        found, mask = model(batch["image"].cuda()), batch["mask"].cuda() > 0.5
        wanted = batch["depth"].cuda()
        first = far_off(found, wanted, mask, 2)
        dist.all_reduce(first, op=dist.ReduceOp.AVG)
        second = error(found, wanted, mask)
        dist.all_reduce(second, op=dist.ReduceOp.AVG)
        third = error_of_all(found, wanted, mask)
        dist.all_reduce(third, op=dist.ReduceOp.AVG)  # expect: TRL007
        fourth = far_off(found, wanted, mask, 8)
        if dist.get_rank() == 0:
            print(first.item(), second.item(), third.item())
            wandb.log({"fourth": fourth.item()})  # expect: TRL003


def main(model, dataset):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DistributedDataParallel(model.cuda())
    validate(model, DataLoader(dataset, sampler=DistributedSampler(dataset)))
