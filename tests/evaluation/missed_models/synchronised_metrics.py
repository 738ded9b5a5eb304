# A metric of torchmetrics gathers the data of all ranks when its result is computed.
import os

import torch
import torch.distributed as dist
import torchmetrics
from torch.nn.parallel import DistributedDataParallel
from torchmetrics.classification import MulticlassAccuracy
from torchmetrics.detection import IntersectionOverUnion


def judge(model, loader, accuracy):
    for x, y in loader:
        accuracy.update(model(x), y)
    if dist.get_rank() == 0:
        print(accuracy.compute())  # expect: TRL006
    accuracy.reset()


def judge_together(model, loader, accuracy):
    for x, y in loader:
        accuracy.update(model(x), y)
    result = accuracy.compute()
    if dist.get_rank() == 0:
        print(result.item())
    accuracy.reset()


def judge_alone(model, loader):
    if dist.get_rank() == 0:
        accuracy = MulticlassAccuracy(10, sync_on_compute=False)
        for x, y in loader:
            accuracy.update(model(x), y)
        print(accuracy.compute())


def scored_where_there_is_something(model, loader):
    overlap = IntersectionOverUnion()
    for images, boxes in loader:
        overlap.update(model(images), boxes)
    if overlap.groundtruth_labels:
        print(overlap.compute())  # expect: TRL006
    if overlap.box_format:
        print(overlap.compute())


def main(net, loader):
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    model = DistributedDataParallel(net.to(device), device_ids=[device])
    accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=10).to(device)
    judge(model, loader, accuracy)
    judge_together(model, loader, MulticlassAccuracy(10).to(device))
    judge_alone(model.module, loader)
    scored_where_there_is_something(model, loader)


main(None, [])
