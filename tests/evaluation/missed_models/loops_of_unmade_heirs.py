"""Training loops of base classes whose heirs are made by name, so that no known code creates an object of them."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, config):
        self.config = config
        self.accelerator = self.make_accelerator()
        model = self.make_model()
        optimizer = torch.optim.AdamW(model.parameters())
        loader = DataLoader(torch.load(config.data), shuffle=True)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)

    def make_accelerator(self):
        raise NotImplementedError

    def make_model(self):
        raise NotImplementedError

    def metrics(self, output):
        return {}

    def step(self, batch):
        output = self.model(batch)
        self.accelerator.backward(output.mean())
        self.optimizer.step()
        return self.metrics(output)

    def learn(self):
        for batch in self.loader:
            metrics = self.step(batch)
            self.accelerator.log(metrics)


class Right(Trainer):
    def make_accelerator(self):
        return Accelerator(log_with="wandb")

    def make_model(self):
        return nn.Linear(8, 1)

    def metrics(self, output):
        return {"mean": self.accelerator.gather(output).mean().item()}


class Wrong(Right):
    def make_model(self):
        return Scaled()

    def metrics(self, output):
        if output.max() > self.model.scale:  # expect: TRL002
            self.accelerator.wait_for_everyone()  # expect: TRL006
        return {"mean": output.mean().item()}  # expect: TRL003


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0
        self.body = nn.Linear(8, 1)

    def forward(self, rows):
        return self.body(rows) * self.scale


def main(config):
    globals()[config.trainer](config).learn()
