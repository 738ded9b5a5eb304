"""All models of a list are wrapped one by one, at their places in it."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from mine import build, scores, steps

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())


def by_number():
    models = [build().cuda() for _ in range(steps)]
    print(models[0].scale)
    for i in range(len(models)):
        models[i] = DistributedDataParallel(models[i])
    print(models[0].scale)  # expect: TRL002
    for model in models:
        print(model.scale)  # expect: TRL002


def enumerated():
    models = [build().cuda() for _ in range(steps)]
    for i, model in enumerate(models):
        models[i] = DistributedDataParallel(model)
        print(model.scale)
    print(models[0].scale)  # expect: TRL002


def some_of_them():
    models = [build().cuda() for _ in range(steps)]
    for i, model in enumerate(models):
        if model.is_trained:
            models[i] = DistributedDataParallel(model)
    print(models[0].scale)


def all_but_the_first():
    models = [build().cuda() for _ in range(steps)]
    for i in range(1, len(models)):
        models[i] = DistributedDataParallel(models[i])
    print(models[0].scale)


def until_one_is_frozen():
    models = [build().cuda() for _ in range(steps)]
    for i, model in enumerate(models):
        if not model.is_trained:
            break
        models[i] = DistributedDataParallel(model)
    print(models[0].scale)


def others():
    models = [build().cuda() for _ in range(steps)]
    wrapped = [None for _ in range(steps)]
    for i, model in enumerate(models):
        wrapped[i] = DistributedDataParallel(model)
    print(models[0].scale)
    print(wrapped[0].scale)  # expect: TRL002


def by_the_number_of_others():
    models = [build().cuda() for _ in range(steps)]
    for i in range(len(scores)):
        models[i] = DistributedDataParallel(models[i])
    print(models[0].scale)


if __name__ == "__main__":
    by_number()
    enumerated()
    some_of_them()
    all_but_the_first()
    until_one_is_frozen()
    others()
    by_the_number_of_others()
