# A text says which attribute a call registers: it is no reason for an object to have another one.
import torch
from accelerate import Accelerator
from torch import nn
from torch.optim.swa_utils import AveragedModel


class Trainer(nn.Module):
    def __init__(self, net, loader):
        super().__init__()
        self.accelerator = Accelerator()
        self.register_buffer("steps", torch.tensor(0))
        self.register_parameter("scale", nn.Parameter(torch.ones(1)))
        self.add_module(name="head", module=nn.Linear(2, 2))
        setattr(self, "rows", 8)  # noqa: B010
        if self.accelerator.is_main_process:
            self.ema = AveragedModel(net)
        self.net, self.loader = self.accelerator.prepare(net, loader)

    def fit(self):
        for batch in self.loader:
            self.accelerator.backward(self.net(batch).mean())
            self.ema.update_parameters(self.net)  # expect: TRL017


class RegistersIt(nn.Module):
    def __init__(self):
        super().__init__()
        self.accelerator = Accelerator()
        self.register_buffer("mean", torch.zeros(2))
        if self.accelerator.is_main_process:
            self.mean = torch.ones(2)

    def fit(self):
        return self.mean.sum()


class RegistersAny(nn.Module):
    def __init__(self, statistics):
        super().__init__()
        self.accelerator = Accelerator()
        for name, value in statistics.items():
            self.register_buffer(name, value)
        if self.accelerator.is_main_process:
            self.mean = torch.ones(2)

    def fit(self):
        return self.mean.sum()


class RegistersByAlias(nn.Module):
    def __init__(self, statistics):
        super().__init__()
        self.accelerator = Accelerator()
        self.register_buffer("count", torch.zeros(1))
        register = self.register_buffer
        register(*statistics)
        if self.accelerator.is_main_process:
            self.mean = torch.ones(2)

    def fit(self):
        return self.mean.sum()


def main(net, loader, statistics):
    Trainer(net, loader).fit()
    RegistersIt().fit()
    RegistersAny(statistics).fit()
    RegistersByAlias(statistics).fit()
