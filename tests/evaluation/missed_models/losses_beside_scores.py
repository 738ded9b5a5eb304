# A model that gathers in its forward may return the loss beside other things, and choose the function that gathers.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def copies(features):
    rows = [torch.empty_like(features) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, features)  # expect: TRL029
    return torch.cat(rows)


def with_own_rows(features):
    rows = [torch.empty_like(features) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, features)
    rows[dist.get_rank()] = features
    return torch.cat(rows)


def with_all_rows(features):
    return torch.cat(torch.distributed.nn.functional.all_gather(features))


class Contrast(nn.Module):
    def __init__(self, gather_gradients=False):
        super().__init__()
        self.head = nn.Linear(8, 8)
        self.gather_gradients = gather_gradients

    def forward(self, texts, images):
        texts, images = self.head(texts), self.head(images)
        gather = with_all_rows if self.gather_gradients else copies
        scores = texts @ gather(images).t()
        target = torch.arange(len(texts), device=texts.device)
        return cross_entropy(scores, target), (scores.argmax(1) == target).float().mean()


class ContrastWithOwn(nn.Module):
    def __init__(self, gather_gradients=False):
        super().__init__()
        self.head = nn.Linear(8, 8)
        self.gather_gradients = gather_gradients

    def forward(self, texts, images):
        texts, images = self.head(texts), self.head(images)
        gather = with_all_rows if self.gather_gradients else with_own_rows
        scores = texts @ gather(images).t()
        target = torch.arange(len(texts), device=texts.device)
        return cross_entropy(scores, target), (scores.argmax(1) == target).float().mean()


def main(rows):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    first, second = DistributedDataParallel(Contrast().cuda()), DistributedDataParallel(ContrastWithOwn().cuda())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for texts, images in loader:
            loss, right = first(texts, images)
            loss.backward()
            other, others_right = second(texts, images)
            other.backward()
