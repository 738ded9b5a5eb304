# Where a loop of its own replaces that of the Trainer, nothing but this loop evaluates, so on one rank only if it says
# so. Where the Trainer's own loop runs, each rank evaluates.
import torch
from transformers import Trainer


class OwnLoop(Trainer):
    def train(self):
        self.fit()
        if self.accelerator.is_main_process:
            self.evaluate()

    def fit(self):
        return self.args.max_steps

    def evaluate(self):
        torch.save(self.args.max_steps, "steps1.pt")


class OwnLoopOnAll(Trainer):
    def train(self):
        self.evaluate()

    def evaluate(self):
        torch.save(self.args.max_steps, "steps2.pt")  # expect: TRL008


class LoopOfTheTrainer(Trainer):
    def train(self):
        super().train()
        if self.accelerator.is_main_process:
            self.evaluate()

    def evaluate(self):
        torch.save(self.args.max_steps, "steps3.pt")  # expect: TRL008


def main(model, rows):
    OwnLoop(model=model, train_dataset=rows).train()
    OwnLoopOnAll(model=model, train_dataset=rows).train()
    LoopOfTheTrainer(model=model, train_dataset=rows).train()
