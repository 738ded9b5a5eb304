"""One call runs the loop of a base on objects of several classes: what each of them does in it counts."""

from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader


class Loop:
    def __init__(self, config):
        self.accelerator = Accelerator(log_with="wandb")
        self.model, self.loader = self.accelerator.prepare(nn.Linear(8, 1), DataLoader(config.rows))

    def metrics(self, batch):
        return {}

    def run(self):
        for batch in self.loader:
            self.accelerator.log(self.metrics(batch))


class Wrong(Loop):
    def metrics(self, batch):
        value = self.model(batch)
        if value.sum() > 1:
            self.accelerator.wait_for_everyone()  # expect: TRL006
        return {"loss": value.mean().item()}  # expect: TRL003


class Right(Loop):
    def metrics(self, batch):
        return {"loss": self.accelerator.gather(self.model(batch)).mean().item()}


def main(config):
    loops = {"wrong": Wrong, "right": Right}
    loops[config.loop](config).run()
