# A function whose decorator keeps its results gathers only when it is called with new arguments.
from functools import cache, cached_property, lru_cache

import torch
import torch.distributed as dist


def gathered(x):
    parts = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    return torch.cat(parts).mean().item()


@lru_cache(maxsize=8)
def gathered_at(own, place):
    return gathered(own[place])


class Scores:
    def __init__(self, own):
        self.own = own

    @cached_property
    def mean(self):
        return gathered(self.own)

    @property
    def last(self):
        return gathered(self.own[-1:])


def main(make):
    dist.init_process_group("nccl")

    @cache
    def score(place):
        return gathered(make(place))

    best = min(range(10), key=score)
    scores = Scores(make(best))
    print(scores.mean, gathered_at(scores.own, 0))
    if dist.get_rank() == 0:
        print("best", best, score(best))
        print("mean", scores.mean, gathered_at(scores.own, 0))
    if dist.get_rank() == 0:
        print("last", scores.last)  # expect: TRL006
