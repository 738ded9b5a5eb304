"""A schedule that a method makes and another one prepares, for a loop that counts the batches it accumulates."""

from dataclasses import dataclass

from accelerate import Accelerator
from torch.optim import AdamW
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR


@dataclass
class Config:
    kind: str = "linear"
    steps: int = 1000
    accumulation: int = 4
    decay: int = 100


class Trainer:
    def __init__(self, config, model, rows):
        self.config = config
        self.accelerator = Accelerator(gradient_accumulation_steps=config.accumulation)
        self.model, self.rows = self.accelerator.prepare(model, rows)
        optimizer = AdamW(model.parameters())
        self.schedule_of_all = self.accelerator.prepare(self.for_all_processes(optimizer))
        self.optimizer, self.schedule = self.accelerator.prepare(optimizer, self.make_schedule(optimizer))

    def make_schedule(self, optimizer):
        kind = self.config.kind
        steps = self.config.steps
        options = {"last_epoch": -1}
        if kind == "linear":
            schedule = LinearLR(optimizer, end_factor=0.1, total_iters=steps, **options)  # expect: TRL020
        elif kind == "cosine":
            schedule = CosineAnnealingLR(optimizer, T_max=steps, **options)  # expect: TRL020
        elif kind == "short":
            schedule = LinearLR(optimizer, total_iters=self.config.decay)
        else:
            schedule = None
        return schedule

    def for_all_processes(self, optimizer):
        return LinearLR(optimizer, total_iters=self.config.steps * self.accelerator.num_processes)

    def train(self, start):
        left = self.config.steps - start
        for _ in range(left * self.config.accumulation):
            with self.accelerator.accumulate(self.model):
                self.accelerator.backward(self.model(**next(self.rows)).loss)
                self.optimizer.step()
                if self.schedule is not None:
                    self.schedule.step()
                self.schedule_of_all.step()
                self.optimizer.zero_grad()


def main(model, rows):
    Trainer(Config(), model, rows).train(0)
