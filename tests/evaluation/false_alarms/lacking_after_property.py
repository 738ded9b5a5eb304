import argparse

from accelerate import Accelerator
from ema_pytorch import EMA


class Trainer:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = model
        if self.accelerator.is_main_process:
            self.ema = EMA(self.model, beta=0.9)
            self.ema.to(self.device)
        self.model = self.accelerator.prepare(self.model)

    @property
    def device(self):
        return self.accelerator.device

    def evaluate(self, batch):
        return self.ema.ema_model.sample(batch)  # expect: TRL017


class AveragedEverywhere:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = model
        if self.accelerator.is_main_process:
            self.ema = EMA(self.model, beta=0.9)
            self.ema.to(self.device)
        else:
            self.ema = EMA(self.model, beta=0.5)
        self.model = self.accelerator.prepare(self.model)

    @property
    def device(self):
        return self.accelerator.device

    def evaluate(self, batch):
        return self.ema.ema_model.sample(batch)


class AveragedOnMain:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = model
        if self.accelerator.is_main_process:
            self.ema = EMA(self.model, beta=0.9)
            self.ema.to(self.device)
        self.model = self.accelerator.prepare(self.model)

    @property
    def device(self):
        return self.accelerator.device

    def evaluate(self, batch):
        if self.accelerator.is_main_process:
            self.ema.ema_model.sample(batch)


def main(args):
    Trainer(args.model).evaluate(args.batch)
    AveragedEverywhere(args.model).evaluate(args.batch)
    AveragedOnMain(args.model).evaluate(args.batch)


if __name__ == "__main__":
    main(argparse.ArgumentParser().parse_args())
