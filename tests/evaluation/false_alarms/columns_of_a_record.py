# The columns of which a record is made are its data: a metric of one of them is a metric where it is put among those
# that are logged, and not where the columns were collected.

from collections import defaultdict
from dataclasses import dataclass, fields

import torch
import torch.distributed as dist
import wandb
from torch.utils.data import DataLoader, DistributedSampler


@dataclass
class Rollout:
    mask: torch.Tensor
    reward: torch.Tensor


class Learner:
    def __init__(self, prompts):
        self.loader = DataLoader(prompts, batch_size=8, sampler=DistributedSampler(prompts))
        self.run = wandb.init() if dist.get_rank() == 0 else None
        self.sums = defaultdict(list)
        self.kept = []

    def merged(self):
        columns = {}
        for each in fields(Rollout):
            parts = [getattr(rollout, each.name) for rollout in self.kept]
            columns[each.name] = torch.cat(parts)
        self.kept.clear()
        return Rollout(**columns)

    def add(self, rollout):
        mask = rollout.mask.float().mean()
        dist.all_reduce(mask, op=dist.ReduceOp.AVG)
        self.sums["mask"].append(mask.item())
        self.sums["reward"].append(rollout.reward.mean().item())  # expect: TRL003

    def train(self):
        for rows in self.loader:
            self.kept.append(Rollout(rows["mask"], rows["reward"]))
            self.add(self.merged())
            if self.run is not None:
                self.run.log({key: sum(each) / len(each) for key, each in self.sums.items() if each})


dist.init_process_group("nccl")
Learner(range(100)).train()
