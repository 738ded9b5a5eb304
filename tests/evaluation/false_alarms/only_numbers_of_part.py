"""No backward pass starts from what is only read by `.item()` or returned detached; from other results it may."""

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn


class Policy(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.features = nn.Embedding(size, 16)
        self.head = nn.Linear(16, size)

    def forward(self, ids):
        return self.head(self.features(ids).mean(dim=1))


class Reinforced:
    def __init__(self, size, loader):
        self.accelerator = Accelerator()
        policy = Policy(size)
        optimizer = torch.optim.AdamW(policy.parameters())
        self.policy, self.optimizer, self.loader = self.accelerator.prepare(policy, optimizer, loader)

    def rewards_by_numbers(self, chosen, wanted):
        features = self.policy.module.features
        target = features(wanted)
        target = F.normalize(target, dim=-1)
        rewards = torch.zeros(len(chosen))
        for index, each in enumerate(chosen):
            found = torch.nn.functional.normalize(features(each), dim=-1)
            alike = F.cosine_similarity(found, target[index], dim=-1)
            rewards[index] = alike.item() if alike.mean() > 0 else float(alike.sum())
        return rewards

    def detached_rewards(self, chosen, wanted):
        features = self.policy.module.features
        rewards = F.cosine_similarity(features(chosen), features(wanted), dim=-1)
        rewards = rewards.mean(dim=-1)
        print(rewards.mean().item())
        return rewards.detach()

    def rewards(self, chosen, wanted):
        features = self.policy.module.features
        rewards = F.cosine_similarity(features(chosen), wanted, dim=-1)  # expect: TRL009
        print(rewards.mean().item())
        return rewards

    def trained_aside(self, chosen):
        features = self.policy.module.features
        return self.step_of(features(chosen).mean()).item()  # expect: TRL009

    def step_of(self, loss):
        self.accelerator.backward(loss)
        return loss

    def kept(self, chosen):
        features = self.policy.module.features
        losses = {}
        losses["alike"] = features(chosen).mean()  # expect: TRL009
        print(losses["alike"].item())
        return losses

    def train(self):
        for ids, wanted in self.loader:
            logits = self.policy(ids)
            chosen = logits.argmax(dim=-1)
            loss = F.cross_entropy(logits, wanted) * self.rewards_by_numbers(chosen, wanted).mean()
            self.accelerator.backward(loss * self.detached_rewards(chosen, wanted).mean())
            self.optimizer.step()
            self.optimizer.zero_grad()

    def train_on_rewards(self):
        for ids, wanted in self.loader:
            self.accelerator.backward(-self.rewards(ids, wanted).mean())
            self.trained_aside(ids)
            self.accelerator.backward(self.kept(ids)["alike"])
            self.optimizer.step()
            self.optimizer.zero_grad()


Reinforced(100, []).train()
Reinforced(100, []).train_on_rewards()
