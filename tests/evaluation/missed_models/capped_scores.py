# `min(1.0, hits / 3)` is one number, also if `hits` may be a tensor: only those can be compared.
import json

import torch
import torch.distributed as dist
from mine import model, rows
from torch.utils.data import DataLoader, DistributedSampler


def capped(answer, references):
    hits = sum(each == answer for each in references)
    return min(1.0, hits / 3)


def of_own_rows(loader):
    scores = []
    with torch.no_grad():
        for questions, references in loader:
            for answer, each in zip(model(questions), references):
                scores.append(capped(answer, each))
    if dist.get_rank() == 0:
        with open("scores.json", "w") as file:
            json.dump({"accuracy": sum(scores) / len(scores)}, file)  # expect: TRL003


def of_all_rows(loader):
    scores = []
    with torch.no_grad():
        for questions, references in loader:
            for answer, each in zip(model(questions), references):
                scores.append(capped(answer, each))
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, scores)
    if dist.get_rank() == 0:
        scores = [score for part in every for score in part]
        with open("scores.json", "w") as file:
            json.dump({"accuracy": sum(scores) / len(scores)}, file)


dist.init_process_group("nccl")
loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
of_own_rows(loader)
of_all_rows(loader)
