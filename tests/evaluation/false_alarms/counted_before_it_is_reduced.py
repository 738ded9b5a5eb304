# The number that an attribute starts with is a tensor once a forward pass has added to it, before it is reduced.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional


class Experts(nn.Module):
    def __init__(self, width, experts, balance):
        super().__init__()
        self.experts, self.balance = experts, balance
        self.select = nn.Linear(width, experts)
        self.scores = []
        self.counts = 0

    def before_loss(self):
        if self.scores:
            scores = torch.cat(self.scores, -2)
            self.add_balance(scores)
            self.scores = []

    def add_balance(self, scores):
        scores = scores.flatten(0, -2)
        if self.balance == "counts":
            dist.all_reduce(self.counts, op=dist.ReduceOp.SUM)
            share = self.counts / self.counts.sum(-1, keepdim=True)
            self.loss = (functional.softmax(scores, -1) * share).mean()
            self.counts = 0

    def forward(self, hidden):
        scores = self.select(hidden)
        if self.balance == "counts":
            chosen = scores.topk(2, -1)[1]
            self.counts = self.counts + functional.one_hot(chosen, self.experts).sum((0, 1))
        self.scores.append(scores)
        return scores


class Counting(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.experts = experts
        self.select = nn.Linear(width, experts)
        self.scores = []
        self.count = 0

    def before_loss(self):
        if self.scores:
            scores = torch.cat(self.scores, -2)
            self.add_balance(scores)
            self.scores = []

    def add_balance(self, scores):
        dist.all_reduce(self.count)  # expect: TRL001
        self.loss = scores.sum() / self.count
        self.count = 0

    def forward(self, hidden):
        scores = self.select(hidden)
        self.count += scores.numel()
        self.scores.append(scores)
        return scores
