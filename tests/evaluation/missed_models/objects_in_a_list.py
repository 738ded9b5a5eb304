"""A loop calls a method of each of the objects in a list, which are of several classes: each of their methods runs."""

import torch
from accelerate import Accelerator
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 1)
        self.tokenizer = object()

    def forward(self, batch):
        return self.net(batch)

    def caption(self, batch):
        return self.net(batch)


class Task:
    def evaluate(self, model):
        raise NotImplementedError


class Captions(Task):
    def evaluate(self, model):
        return model.caption(torch.ones(1, 8))  # expect: TRL002


class Questions(Task):
    def evaluate(self, model):
        return model.tokenizer  # expect: TRL002


class Forwards(Task):
    def evaluate(self, model):
        return model(torch.ones(1, 8))


class Bare(Task):
    """The loop leaves this class out, so that it gets the bare model only."""

    def evaluate(self, model):
        return model.caption(torch.ones(1, 8))


class Loop:
    def __init__(self, accelerator, policy, tasks):
        self.accelerator = accelerator
        self.model = accelerator.prepare(policy)
        self.tasks = tasks

    def run(self):
        for task in self.tasks:
            if isinstance(task, Bare):
                task.evaluate(self.accelerator.unwrap_model(self.model))
            else:
                task.evaluate(self.model)
        chosen = [task for task in self.tasks if not isinstance(task, (Captions, Questions, Forwards))]
        for task in chosen:
            task.evaluate(self.accelerator.unwrap_model(self.model))


def main(args):
    tasks = [Forwards(), Bare()]
    if args.captions:
        tasks.append(Captions())
    if args.questions:
        tasks.append(Questions())
    Loop(Accelerator(), Policy(), tasks).run()
