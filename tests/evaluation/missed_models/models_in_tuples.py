# A loop over a few models is run once for each of them, so that the wrapped one is distinguished from the others.
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def forward(self, x):
        return x


class Training:
    def __init__(self, rows, average):
        self.accelerator = Accelerator()
        self.average = average
        self.model, self.loader = self.accelerator.prepare(Net(), DataLoader(rows))

    def show(self, batch):
        if self.accelerator.is_main_process:
            for model, name in ((self.average.copy_of_model, "average"), (self.model, "trained")):
                print(name, model(batch))  # expect: TRL006

    def show_each(self, batch):
        if self.accelerator.is_main_process:
            for model in [self.average.copy_of_model, self.accelerator.unwrap_model(self.model)]:
                print(model(batch))


def main(rows, average):
    training = Training(rows, average)
    training.show(rows[0])
    training.show_each(rows[0])
